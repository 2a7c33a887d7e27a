/** The proxy's side of the link, by hand: says what a test tells it to and keeps what it hears. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import {
  schedulerMessageSchema,
  type ProxyMessage,
  type SchedulerMessage,
  type TurnSpec,
} from '../../../contracts/link-protocol.ts';
import type { Caller, ProxyId, RunId, TurnId } from '../../../contracts/ids.ts';

type Resync = Extract<ProxyMessage, { type: 'resync' }>;

export interface FakeProxy {
  readonly heard: SchedulerMessage[];
  say(message: ProxyMessage | string): void;
  /** Resolves with the messages of a type once there are `count` of them; rejects after 5 s. */
  hears<Type extends SchedulerMessage['type']>(
    type: Type,
    count?: number,
  ): Promise<Extract<SchedulerMessage, { type: Type }>[]>;
  /** Resolves with code and reason once the link is closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  close(): void;
}

export async function linkProxy(
  url: string,
  proxy: string,
  state: Partial<Omit<Resync, 'type' | 'proxy'>> = {},
): Promise<FakeProxy> {
  const link = await openLink(url);
  link.say({ type: 'resync', proxy: proxy as ProxyId, runs: [], held: [], inFlight: [], ...state });
  await link.hears('pool');
  return link;
}

/** A link on which nothing was said yet. */
export async function openLink(url: string): Promise<FakeProxy> {
  const socket = new WebSocket(url.replace('http', 'ws') + (new URL(url).pathname === '/' ? '/link' : ''));
  const heard: SchedulerMessage[] = [];
  let wake = (): void => {};
  socket.on('message', (data: Buffer) => {
    heard.push(schedulerMessageSchema.parse(JSON.parse(data.toString('utf8'))));
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') }));
  });
  await once(socket, 'open');
  return {
    heard,
    closed,
    say: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    close: () => socket.close(),
    async hears(type, count = 1) {
      const of = (): Extract<SchedulerMessage, { type: typeof type }>[] =>
        heard.filter(
          (message): message is Extract<SchedulerMessage, { type: typeof type }> => message.type === type,
        );
      const limit = AbortSignal.timeout(5_000);
      while (of().length < count) {
        await new Promise<void>((resolve, reject) => {
          wake = resolve;
          limit.addEventListener('abort', () => {
            reject(new Error(`heard no ${count} ${type} in 5 s, but ${JSON.stringify(heard)}`));
          });
        });
      }
      return of();
    },
  };
}

let nextTurn = 0;

export function turnSpec(fields: Partial<Record<keyof TurnSpec, unknown>> = {}): TurnSpec {
  nextTurn += 1;
  return {
    turn: `t${nextTurn}` as TurnId,
    run: `r${nextTurn}` as RunId,
    class: 'interactive',
    caller: 'alice' as Caller,
    model: 'm',
    api: 'chat',
    promptTokens: 100,
    maxTokens: 64,
    prefix: [],
    ...fields,
  } as TurnSpec;
}
