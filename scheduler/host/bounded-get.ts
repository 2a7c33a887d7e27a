/** Small requests with a time limit and a bound on the answer's body. Never throws: a fault is an answer too. */
import { request, type Dispatcher } from 'undici';

const timeoutMs = 2_000;
const maxBodyBytes = 4 * 1024 * 1024;

export interface GetOptions {
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export type Answer = { readonly body: string } | { readonly fault: string };

export async function get(url: string, options: GetOptions): Promise<Answer> {
  try {
    const { status, text } = await ask(url, 'GET', null, options);
    return status >= 200 && status < 300 ? { body: text } : { fault: `status ${status}` };
  } catch (error) {
    return { fault: describeFault(error) };
  }
}

/** The status of the answer; null when there was none. */
export async function statusOf(
  url: string,
  method: 'GET' | 'POST',
  body: string | null,
  options: GetOptions,
): Promise<number | null> {
  try {
    return (await ask(url, method, body, options)).status;
  } catch {
    return null;
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

async function ask(
  url: string,
  method: 'GET' | 'POST',
  body: string | null,
  { dispatcher, headers, signal }: GetOptions,
): Promise<{ status: number; text: string }> {
  const answer = await request(url, {
    dispatcher,
    method,
    body,
    headers: {
      ...headers,
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  return { status: answer.statusCode, text: await readBounded(answer.body, maxBodyBytes) };
}

/** @throws Error when it is larger. */
export async function readBounded(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
