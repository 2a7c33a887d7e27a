/**
 * Asks an engine for the usage of a stream when the client did not, in the client's own bytes. Pure. For
 * the APIs that report it on request only.
 */
import { addField, setField } from '../request-body.ts';

/** How a body is made to ask: the JSON of its `stream_options`, and whether it has some already. */
export interface UsageAsked {
  readonly options: string;
  readonly replaces: boolean;
}

/**
 * null when the client asked itself, wants no stream, or wrote what an engine will refuse.
 */
export function usageToAsk(request: {
  readonly stream?: boolean | null | undefined;
  readonly stream_options?: unknown;
}): UsageAsked | null {
  if (request.stream !== true) return null;
  if (request.stream_options === undefined) return askedAnew;
  const given = request.stream_options ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) return null;
  if ((given as Record<string, unknown>)['include_usage'] === true) return null;
  return { options: JSON.stringify({ ...given, include_usage: true }), replaces: true };
}

const askedAnew: UsageAsked = { options: '{"include_usage":true}', replaces: false };

/** The body that asks. Made when it is sent: a held turn keeps its body once. */
export function askingBody(body: Buffer, asked: UsageAsked | null): Buffer {
  if (asked === null) return body;
  const put = asked.replaces ? setField : addField;
  return put(body, 'stream_options', asked.options);
}
