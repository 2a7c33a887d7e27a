/** A scheduler that speaks the link protocol and decides as a test tells it, turn by turn or by rule. */
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { RateLimits } from '../../contracts/config-file.ts';
import type { ReplicaId, TurnId } from '../../contracts/ids.ts';
import {
  proxyMessageSchema,
  type PoolReplica,
  type ProxyMessage,
  type SchedulerMessage,
  type TurnSpec,
} from '../../contracts/link-protocol.ts';

export interface ScriptedScheduler {
  readonly url: string;
  readonly port: number;
  /** Everything that proxies have sent, in order. */
  readonly messages: readonly ProxyMessage[];
  of<Type extends ProxyMessage['type']>(type: Type): Extract<ProxyMessage, { type: Type }>[];
  /** Turns admitted and not finished: the places that are taken. */
  readonly places: () => number;
  /** Arrived and neither admitted nor abandoned. */
  readonly held: () => number;
  admit(turn: TurnId, replica: string): void;
  send(message: SchedulerMessage): void;
  setPool(pool: readonly PoolReplica[], streamIdleMs?: number): void;
  setRateLimits(limits: Readonly<Record<string, RateLimits>>): void;
  /** Cuts every connection and listens no more. */
  close(): Promise<void>;
}

export type Rule = (spec: TurnSpec) => SchedulerMessage | null;

/** Admits every turn to the first replica that serves it; one that comes again, to the next. */
export function admitAll(pool: () => readonly PoolReplica[]): Rule {
  const seen = new Map<string, number>();
  return (spec) => {
    const times = seen.get(spec.turn) ?? 0;
    seen.set(spec.turn, times + 1);
    const fitting = pool().filter(
      (replica) =>
        replica.apis.includes(spec.api) && (spec.model === null || replica.models.includes(spec.model)),
    );
    const replica = fitting[times % fitting.length];
    return replica === undefined
      ? { type: 'reject', turn: spec.turn, code: 'unknown_model' }
      : { type: 'admit', turn: spec.turn, replica: replica.id };
  };
}

export async function startScriptedScheduler(options: {
  pool: readonly PoolReplica[];
  rule?: Rule;
  port?: number;
  streamIdleMs?: number;
  rateLimits?: Readonly<Record<string, RateLimits>>;
  /** Connections are kept, but no ping is answered. */
  deaf?: boolean;
}): Promise<ScriptedScheduler> {
  let pool = options.pool;
  let streamIdleMs = options.streamIdleMs ?? 300_000;
  const rule = options.rule ?? admitAll(() => pool);
  let rateLimits = options.rateLimits ?? {};
  const messages: ProxyMessage[] = [];
  const heldTurns = new Set<TurnId>();
  const takenTurns = new Set<TurnId>();
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: options.port ?? 0,
    path: '/link',
    autoPong: options.deaf !== true,
  });
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
  const send = (message: SchedulerMessage): void => {
    if (message.type === 'admit') {
      heldTurns.delete(message.turn);
      takenTurns.add(message.turn);
    }
    if (message.type === 'reject') heldTurns.delete(message.turn);
    for (const client of server.clients) client.send(JSON.stringify(message));
  };
  const poolMessage = (): SchedulerMessage => ({
    type: 'pool',
    replicas: [...pool],
    streamIdleMs,
    rateLimits: { ...rateLimits },
  });
  const arrived = (spec: TurnSpec): void => {
    heldTurns.add(spec.turn);
    const decision = rule(spec);
    if (decision !== null) send(decision);
  };
  const take = (message: ProxyMessage): void => {
    messages.push(message);
    if (message.type === 'resync') {
      send(poolMessage());
      for (const turn of message.inFlight) takenTurns.add(turn.spec.turn);
      for (const turn of message.held) arrived(turn.spec);
    }
    if (message.type === 'turnArrived') arrived(message.spec);
    if (message.type === 'turnAbandoned') heldTurns.delete(message.turn);
    if (message.type === 'turnFinished') takenTurns.delete(message.turn);
  };
  server.on('connection', (socket: WebSocket) => {
    socket.on('message', (data: Buffer) => take(proxyMessageSchema.parse(JSON.parse(data.toString('utf8')))));
    socket.on('error', () => {});
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    messages,
    of: <Type extends ProxyMessage['type']>(type: Type) =>
      messages.filter((message): message is Extract<ProxyMessage, { type: Type }> => message.type === type),
    places: () => takenTurns.size,
    held: () => heldTurns.size,
    admit: (turn, replica) => send({ type: 'admit', turn, replica: replica as ReplicaId }),
    send,
    setPool: (next, idleMs) => {
      pool = next;
      streamIdleMs = idleMs ?? streamIdleMs;
      send(poolMessage());
    },
    setRateLimits: (limits) => {
      rateLimits = limits;
      send(poolMessage());
    },
    close: async () => {
      for (const client of server.clients) client.terminate();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
