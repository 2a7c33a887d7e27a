/**
 * Ties the stream of a response to its request: when the client has gone, the stream is cancelled at its
 * source at once, not at the next write; and the end of the exchange is told, however it comes.
 */
export function bindResponse(response: Response, signal: AbortSignal, onEnd: () => void): Response {
  if (response.body === null) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  let over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    signal.removeEventListener('abort', onAbort);
    onEnd();
  };
  let close = (): void => undefined;
  const onAbort = (): void => {
    end();
    close();
    reader.cancel(signal.reason).catch(() => undefined);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        close = () => controller.close();
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (over) return;
          if (!done) controller.enqueue(value);
          else {
            end();
            controller.close();
          }
        } catch (error) {
          if (over) return;
          end();
          controller.error(error);
        }
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: response.status, headers: response.headers });
}
