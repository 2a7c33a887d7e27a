/** A closed loop: each connection sends its next request when its last one has ended. */
import { Pool } from 'undici';
import { requestHeaders } from '../../contracts/headers.ts';
import { clockMs } from './clock.ts';
import { Exchange, chatHeaders, sendChat, type ExchangeEnd } from './exchange.ts';
import { Failures } from './failures.ts';
import type { ClosedOrder, ClosedResult } from './load-protocol.ts';
import { bodyMaker } from './request-bodies.ts';
import { quantilesOf } from './statistics.ts';

/** A gateway that fails everything must not make a busy loop of it. */
const maxFailures = 10_000;

/** Conversations of different windows must not be the same. */
let windows = 0;

/** A run known by its conversation only begins anew after this many turns, or its body would grow for ever. */
const turnsOfRun = 32;

/** Requests of runs that come back, over all orders. */
let turnsSent = 0;

export async function runClosedLoop(order: ClosedOrder): Promise<ClosedResult> {
  windows += 1;
  const pool = new Pool(order.target.url, {
    connections: order.connections,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });
  const failures = new Failures();
  const counts = { sent: 0, whole: 0 };
  const totalMs: number[] = [];
  const startMs = clockMs();
  const timed = 'windowMs' in order.until ? order.until : null;
  const countFromMs = startMs + (timed?.warmUpMs ?? 0);
  const countToMs = timed === null ? Number.POSITIVE_INFINITY : countFromMs + timed.windowMs;
  const counted = 'requests' in order.until ? order.until : null;
  const maxRequests = counted?.requests ?? Number.POSITIVE_INFINITY;
  const stopAtMs = counted === null ? countToMs : startMs + counted.limitMs;
  const next = requestMaker(order);

  const more = (): boolean =>
    counts.sent < maxRequests && clockMs() < stopAtMs && failures.count < maxFailures;
  const one = async (): Promise<void> => {
    const { stream, headers, body } = next(counts.sent);
    counts.sent += 1;
    const sentAtMs = clockMs();
    const { fault, endedAtMs } = await new Promise<ExchangeEnd>((resolve) => {
      sendChat(pool, headers, body, new Exchange({ stream, onEnd: resolve }));
    });
    if (fault !== null) failures.add(fault);
    else {
      counts.whole += 1;
      if (sentAtMs >= countFromMs && endedAtMs <= countToMs) totalMs.push(endedAtMs - sentAtMs);
      if (endedAtMs >= countFromMs && endedAtMs <= countToMs) ended += 1;
    }
  };
  let ended = 0;
  await Promise.all(
    Array.from({ length: order.connections }, async () => {
      while (more()) await one();
    }),
  );
  const seconds = (Math.min(clockMs(), countToMs) - countFromMs) / 1_000;
  await pool.close();
  return {
    kind: 'closed',
    ...counts,
    failed: failures.count,
    reasons: failures.reasons,
    requestsPerSecond: seconds > 0 ? ended / seconds : 0,
    totalMs: quantilesOf(totalMs),
  };
}

interface NextRequest {
  readonly stream: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function requestMaker(order: ClosedOrder): (index: number) => NextRequest {
  const { model, maxTokens, runs, streams } = order;
  const plainBody = bodyMaker({ model, maxTokens, stream: false });
  const streamBody = bodyMaker({ model, maxTokens, stream: true });
  const headers = chatHeaders(order.target.headers);
  const [runHeader] = requestHeaders.runId;
  return (index) => {
    const stream = streams === 'mixed' ? Math.floor(index / 2) % 2 === 0 : streams === 'all';
    const bodyOf = stream ? streamBody : plainBody;
    if (runs === 0) return { stream, headers, body: bodyOf(`${windows}.${index}`) };
    const run = turnsSent % runs;
    const round = Math.floor(turnsSent / runs);
    turnsSent += 1;
    if (run % 2 === 1)
      return { stream, headers: { ...headers, [runHeader]: `run-${run}` }, body: bodyOf(`${run}`) };
    // In other words each time: what two runs have both said names neither of them, and each turn were a new run.
    const conversation = `${run}.${Math.floor(round / turnsOfRun)}`;
    return { stream, headers, body: bodyOf(conversation, 1 + (round % turnsOfRun)) };
  };
}
