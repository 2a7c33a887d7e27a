/** One bounded GET, and what came of it; never throws. */

export interface Answer {
  /** null: no answer. */
  readonly status: number | null;
  /** At most {@link maxBytes} of the body. */
  readonly text: string;
  /** Why there is no answer: `ECONNREFUSED`, `no answer within 3 s`. */
  readonly trouble: string | null;
  /** Milliseconds that the other side's clock is ahead of ours; null: it does not say. */
  readonly skewMs: number | null;
}

const limitMs = 3_000;
const maxBytes = 1_000_000;

export async function askHttp(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const sentAtMs = Date.now();
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(limitMs), redirect: 'manual' });
    const date = Date.parse(response.headers.get('date') ?? '');
    const betweenMs = (sentAtMs + Date.now()) / 2;
    return {
      status: response.status,
      text: await firstBytes(response),
      trouble: null,
      // The header has whole seconds: on average it says half a second too little.
      skewMs: Number.isNaN(date) ? null : date + 500 - betweenMs,
    };
  } catch (error) {
    const { name, message, cause } = error as Error & { cause?: { code?: string } };
    const trouble =
      name === 'TimeoutError' ? `no answer within ${limitMs / 1_000} s` : (cause?.code ?? message);
    return { status: null, text: '', trouble, skewMs: null };
  }
}

async function firstBytes(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
