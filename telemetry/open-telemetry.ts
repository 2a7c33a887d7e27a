/**
 * Opens tracing for one service of this process, if the environment asks for it. OpenTelemetry is loaded
 * here and nowhere else, and only then: without the setting it costs not even its import.
 */
import type { Logger } from 'pino';
import { parseOtelSettings } from './otel-settings.ts';
import type { Telemetry } from './telemetry.ts';

/**
 * @param service as in `fermata-proxy`: the `service.name` unless OTEL_SERVICE_NAME says another.
 * @returns null when nothing is to be traced.
 * @throws OtelSettingsFault for a setting that cannot be used. A receiver that is away is no fault.
 */
export async function openTelemetry(
  environment: Readonly<Record<string, string | undefined>>,
  service: string,
  deps: { readonly logger: Logger },
): Promise<Telemetry | null> {
  const settings = parseOtelSettings(environment);
  if (settings === null) return null;
  const { createOtelTelemetry } = await import('./otel-telemetry.ts');
  return await createOtelTelemetry(settings, service, deps);
}
