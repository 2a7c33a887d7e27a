/** How the tests of the simulated engine start engines, ask them and read their streams. */
import OpenAI from 'openai';
import { afterEach } from 'vitest';
import { startSimEngine, type SimEngine, type SimEngineOptions } from '../../../testkit/sim-engine/host.ts';

export interface StartedEngine {
  readonly engine: SimEngine;
  readonly client: OpenAI;
}

/** To be called once in a test file: what starts engines there, each closed after its test. */
export function engineStarter(): (options?: SimEngineOptions) => Promise<StartedEngine> {
  const running: SimEngine[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map(async (engine) => await engine.close()));
  });
  return async (options = {}) => {
    const engine = await startSimEngine({ timeScale: 0, ...options });
    running.push(engine);
    return { engine, client: new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'x', maxRetries: 0 }) };
  };
}

/** @param body sent as it stands when it is a text. */
export async function postTo(
  engine: SimEngine,
  path: string,
  body: unknown,
  { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return await fetch(`${engine.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The bytes of a streamed reply, read until the connection ends in whatever way. */
export async function readAll(response: Response): Promise<{ text: string; broken: boolean }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? [])
      text += decoder.decode(bytes as Uint8Array, { stream: true });
    return { text, broken: false };
  } catch {
    return { text, broken: true };
  }
}

/** The data of each event. */
export function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => event.replace(/^(event: [^\n]*\n)?data: /, ''));
}

/** An event of a stream whose events have names; throws for one whose name is not its type. */
export interface NamedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export function namedEventsOf(text: string): NamedEvent[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => {
      const [, name, data] = /^event: ([a-z_.]+)\ndata: (.+)$/.exec(event) ?? [];
      const value = JSON.parse(data ?? 'null') as NamedEvent | null;
      if (value === null || value.type !== name) throw new Error(`an event that is none: ${event}`);
      return value;
    });
}
