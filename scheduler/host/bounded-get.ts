/** A GET with a time limit and a bound on its body. Never throws: a fault is an answer too. */
import { request, type Dispatcher } from 'undici';

const timeoutMs = 2_000;
const maxBodyBytes = 4 * 1024 * 1024;

export interface GetOptions {
  readonly dispatcher: Dispatcher;
  readonly apiKey: string | null;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export type Answer = { readonly body: string } | { readonly fault: string };

export async function get(url: string, { dispatcher, apiKey, signal }: GetOptions): Promise<Answer> {
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await readBounded(body);
    return statusCode >= 200 && statusCode < 300 ? { body: text } : { fault: `status ${statusCode}` };
  } catch (error) {
    return { fault: describeFault(error) };
  }
}

/** The parsed body; undefined when there is none that parses. */
export async function getJson(url: string, options: GetOptions): Promise<unknown> {
  const answer = await get(url, options);
  if ('fault' in answer) return undefined;
  try {
    return JSON.parse(answer.body) as unknown;
  } catch {
    return undefined;
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw new Error(`the answer is larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
