/**
 * Asks an engine for the usage of a stream when the client did not, in the client's own bytes. Pure. For
 * the APIs that report it on request only.
 */
import { addField, setField } from '../request-body.ts';

/**
 * The body with usage asked for; null when the client asked itself, wants no stream, or wrote what an
 * engine will refuse.
 */
export function askForUsage(
  body: Buffer,
  request: { readonly stream?: boolean | null | undefined; readonly stream_options?: unknown },
): Buffer | null {
  if (request.stream !== true) return null;
  if (request.stream_options === undefined) return addField(body, 'stream_options', '{"include_usage":true}');
  const given = request.stream_options ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) return null;
  if ((given as Record<string, unknown>)['include_usage'] === true) return null;
  return setField(body, 'stream_options', JSON.stringify({ ...given, include_usage: true }));
}
