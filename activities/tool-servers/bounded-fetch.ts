/**
 * `fetch` over one agent, with a bound on each message of the answer and no time limit: who asks has its own.
 */
import { fetch as undiciFetch, type Agent, type RequestInit as UndiciRequestInit } from 'undici';

/** Bytes of one message; a longer one ends its stream. */
const longestMessage = 32_000_000;

export async function boundedFetch(agent: Agent, url: string | URL, init?: RequestInit): Promise<Response> {
  const response = (await undiciFetch(url, {
    ...init,
    dispatcher: agent,
  } as UndiciRequestInit)) as unknown as Response;
  if (response.body === null || (response.status >= 300 && response.status < 400)) return response;
  const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(messageBound(isEvents)), {
    status,
    statusText,
    headers: [...headers],
  });
}

/** Breaks a body off whose message gets too long: of a stream of events each line counts by itself. */
function messageBound(isEvents: boolean): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const lineEnd = isEvents ? chunk.lastIndexOf(10) : -1;
      bytes = lineEnd < 0 ? bytes + chunk.length : chunk.length - lineEnd - 1;
      if (bytes <= longestMessage) controller.enqueue(chunk);
      else controller.error(new Error(`a message is larger than ${longestMessage} bytes`));
    },
  });
}
