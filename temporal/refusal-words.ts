/** What a Temporal server's refusals mean for the one who has set fermata up: one line that says what to do. Pure. */
import type { TemporalSettings } from './temporal-settings.ts';

/** Numbers of gRPC. */
const permissionDenied = 7;
const unauthenticated = 16;
const notFound = 5;

/** Whether `words` or a status tell of a namespace that is not there. */
export function isMissingNamespace(status: { readonly code: number; readonly details: string }): boolean {
  return status.code === notFound && /^Namespace\b/i.test(status.details);
}

export function missingNamespaceWords({ address, namespace }: TemporalSettings): string {
  return isTemporalCloud(address)
    ? `Temporal has no namespace '${namespace}' at ${address}; on Temporal Cloud its name is NAME.ACCOUNT: set TEMPORAL_NAMESPACE`
    : `Temporal has no namespace '${namespace}' at ${address}; create it with \`fermata setup temporal --create-namespace\`, or set TEMPORAL_NAMESPACE to one that is there`;
}

/** @returns null: the status is no refusal of whoever asks. */
export function refusalWords(
  status: { readonly code: number; readonly details: string },
  settings: TemporalSettings,
): string | null {
  if (status.code !== permissionDenied && status.code !== unauthenticated) return null;
  const shown =
    settings.apiKey !== undefined
      ? 'the API key (TEMPORAL_API_KEY): see that it is the right one, has not expired, and'
      : typeof settings.tls === 'object' && settings.tls.clientCertPair !== undefined
        ? 'the client certificate (TEMPORAL_TLS_CLIENT_CERT_PATH): see that it'
        : 'a caller without a key: set TEMPORAL_API_KEY, or TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH, to one that';
  return `Temporal at ${settings.address} refuses ${shown} may use namespace '${settings.namespace}' (TEMPORAL_NAMESPACE); it says: ${status.details}`;
}

/** Temporal's own service, where namespaces and search attributes are not made by this API. */
export function isTemporalCloud(address: string): boolean {
  return /\.(tmprl\.cloud|api\.temporal\.io|tmprl-test\.cloud)(:\d+)?$/i.test(address);
}
