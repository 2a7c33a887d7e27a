/**
 * `GET /api/events` with `fetch`, since a browser's EventSource cannot send a token. It comes back by itself
 * after every end, with the id of the last event that it has seen, and slower each time that fails.
 */
import { createParser } from 'eventsource-parser';
import { signal } from '@preact/signals';
import { apiUrl, refused, wordsOf } from './request.ts';
import { authorization } from './session.ts';
import type { Events } from './types.ts';

export type EventHandlers = {
  readonly [N in keyof Events]: (data: Events[N]) => void;
};

/** `connecting` at the start, `live`, or why nothing is told now. */
export const connection = signal<{ readonly state: 'connecting' | 'live' | 'lost'; readonly words: string }>({
  state: 'connecting',
  words: '',
});

const firstWaitMs = 500;
const longestWaitMs = 10_000;
/** The server says that it is there every 15 seconds. */
const silentMs = 45_000;

/** Listens until `ended` is aborted, or a token is asked for. */
export async function listen(handlers: EventHandlers, ended: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  let waitMs = firstWaitMs;
  while (!ended.aborted) {
    try {
      await readOnce(lastId, ended, (name, data, id) => {
        if (id !== undefined) lastId = id;
        waitMs = firstWaitMs;
        if (name === 'ready') connection.value = { state: 'live', words: '' };
        dispatch(handlers, name, data);
      });
      connection.value = { state: 'connecting', words: '' };
    } catch (error) {
      if (ended.aborted) return;
      connection.value = { state: 'lost', words: wordsOf(error) };
      if (error instanceof Error && 'status' in error && error.status === 401) return;
    }
    await pause(waitMs, ended);
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

function dispatch(handlers: EventHandlers, name: string, data: unknown): void {
  const handle = (handlers as Readonly<Record<string, ((data: never) => void) | undefined>>)[name];
  handle?.(data as never);
}

type OnEvent = (name: string, data: unknown, id: string | undefined) => void;

async function readOnce(lastId: string | null, outer: AbortSignal, onEvent: OnEvent): Promise<void> {
  const silence = new AbortController();
  const stop = (): void => silence.abort(new Error('the server has gone silent'));
  let timer = setTimeout(stop, silentMs);
  try {
    const response = await fetch(apiUrl('events'), {
      headers: { ...authorization(), ...(lastId === null ? {} : { 'last-event-id': lastId }) },
      signal: AbortSignal.any([outer, silence.signal]),
      cache: 'no-store',
    });
    if (!response.ok) throw refused(response.status, await response.json().catch(() => ({})));
    const parser = createParser({
      onEvent: ({ event, id, data }) => onEvent(event ?? '', JSON.parse(data), id),
    });
    const text = new TextDecoder();
    const reader = response.body?.getReader();
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, silentMs);
      parser.feed(text.decode(part.value, { stream: true }));
    }
  } catch (error) {
    throw error instanceof TypeError ? new Error('the server does not answer', { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

async function pause(ms: number, ended: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      ended.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    ended.addEventListener('abort', end);
  });
}
