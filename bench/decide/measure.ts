/**
 * Classifications in closed loops, through the proxy and directly: the direct request is, byte for byte, the
 * one that the proxy makes of the client's, and its reply is read as the proxy reads it, so that both arms
 * ask the engine for the same and must get the same label.
 */
import { Agent } from 'undici';
import { z } from 'zod';
import { replicaIdSchema } from '../../contracts/ids.ts';
import type { PoolReplica } from '../../contracts/link-protocol.ts';
import { decide } from '../../proxy/apis/decide.ts';
import type { PoolEngine } from '../site/simulated-pool.ts';
import { armsInOrder, requestOf, type DecideCase, type DecideKind, type DecidePlan } from './plan.ts';

export const armNames = ['direct', 'fermata'] as const;
export type DecideArm = (typeof armNames)[number];

export interface DecideSite {
  readonly engines: Readonly<Record<DecideKind, PoolEngine>>;
  /** Root of fermata's proxy. */
  readonly gatewayUrl: string;
  readonly progress: (line: string) => void;
}

/** All slices of one arm in one repeat. */
export interface DecideWindow {
  readonly case: DecideCase;
  readonly arm: DecideArm;
  readonly repeat: number;
  readonly latencyMs: readonly number[];
  /** Not answered with 200 and a label. */
  readonly failed: number;
}

export interface DecideResult {
  readonly windows: readonly DecideWindow[];
  /** Requests that both arms have sent, and those of them that got different labels. */
  readonly compared: number;
  readonly different: number;
}

interface Call {
  readonly url: string;
  readonly path: string;
  readonly body: Buffer;
  readonly labelOf: (reply: Buffer) => string;
}

const answerSchema = z.looseObject({ label: z.string().min(1) });
const timeoutMs = 60_000;

function callOf(site: DecideSite, arm: DecideArm, kind: DecideKind, number: number): Call {
  const engine = site.engines[kind];
  const body = Buffer.from(JSON.stringify(requestOf(kind, number, engine.model)));
  const read = (text: string): string => answerSchema.parse(JSON.parse(text)).label;
  if (arm === 'fermata') {
    return {
      url: site.gatewayUrl,
      path: decide.path,
      body,
      labelOf: (reply) => read(reply.toString('utf8')),
    };
  }
  const request = decide.readRequest(body);
  const replica = replicaOf(engine);
  const path =
    typeof request.upstreamPath === 'string' ? request.upstreamPath : request.upstreamPath(replica);
  const translate = request.translate ?? ((reply: Buffer) => reply.toString('utf8'));
  return {
    url: engine.url,
    path,
    body: request.bodyFor(replica),
    labelOf: (reply) => read(translate(reply)),
  };
}

function replicaOf({ id, url, kind, model }: PoolEngine): PoolReplica {
  return {
    id: replicaIdSchema.parse(id),
    url,
    engine: 'vllm',
    kind,
    models: [model],
    apis: [],
    images: false,
    healthy: true,
  };
}

interface Slice {
  readonly latencyMs: number[];
  /** By the number of the request. */
  readonly labels: Map<number, string>;
  failed: number;
}

/** Asks one request after another on each of `concurrent` connections until `more` says no. */
async function closedLoops(
  site: DecideSite,
  arm: DecideArm,
  { kind, concurrent }: DecideCase,
  firstNumber: number,
  more: (sent: number) => boolean,
): Promise<Slice> {
  const agent = new Agent({ connections: concurrent, pipelining: 1, connect: { noDelay: true } });
  const slice: Slice = { latencyMs: [], labels: new Map(), failed: 0 };
  let sent = 0;
  const loop = async (): Promise<void> => {
    while (more(sent)) {
      const number = firstNumber + sent;
      sent += 1;
      const call = callOf(site, arm, kind, number);
      const startedMs = performance.now();
      const reply = await send(agent, call);
      const tookMs = performance.now() - startedMs;
      if (reply === null) slice.failed += 1;
      else {
        slice.latencyMs.push(tookMs);
        slice.labels.set(number, call.labelOf(reply));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrent }, loop));
  await agent.close();
  return slice;
}

/** @returns null when it was not answered with 200. */
async function send(agent: Agent, { url, path, body }: Call): Promise<Buffer | null> {
  try {
    const response = await agent.request({
      origin: url,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const reply = Buffer.from(await response.body.arrayBuffer());
    return response.statusCode === 200 ? reply : null;
  } catch {
    return null;
  }
}

/** What one arm has asked another must not ask, or it finds the engine's cache warm. */
const numbersOfSlice = 100_000;

export async function measureDecide(site: DecideSite, plan: DecidePlan): Promise<DecideResult> {
  const windows: DecideWindow[] = [];
  let slices = 0;
  const nextNumbers = (): number => {
    slices += 1;
    return slices * numbersOfSlice;
  };
  for (const one of plan.cases) {
    for (const arm of armNames) {
      await closedLoops(site, arm, one, nextNumbers(), (sent) => sent < plan.warmUpRequests);
    }
  }
  for (let repeat = 0; repeat < plan.repeats; repeat += 1) {
    for (const one of plan.cases) {
      site.progress(`${one.kind}, ${one.concurrent} at a time, repeat ${repeat + 1} of ${plan.repeats}`);
      windows.push(...(await measureCase(site, plan, one, repeat, nextNumbers)));
    }
  }
  return { windows, ...(await compareLabels(site, plan, nextNumbers)) };
}

async function measureCase(
  site: DecideSite,
  plan: DecidePlan,
  one: DecideCase,
  repeat: number,
  nextNumbers: () => number,
): Promise<readonly DecideWindow[]> {
  const found = armNames.map((arm) => ({ case: one, arm, repeat, latencyMs: [] as number[], failed: 0 }));
  for (let turn = 0; turn < plan.slices; turn += 1) {
    for (const window of armsInOrder(found, repeat + turn)) {
      const untilMs = performance.now() + plan.sliceMs;
      const more = (): boolean => performance.now() < untilMs;
      const slice = await closedLoops(site, window.arm, one, nextNumbers(), more);
      window.latencyMs.push(...slice.latencyMs);
      window.failed += slice.failed;
    }
  }
  return found;
}

/** Here the arms ask the same, and nothing is timed. */
async function compareLabels(
  site: DecideSite,
  plan: DecidePlan,
  nextNumbers: () => number,
): Promise<Pick<DecideResult, 'compared' | 'different'>> {
  let [compared, different] = [0, 0];
  for (const one of plan.cases) {
    const first = nextNumbers();
    const ask = async (arm: DecideArm): Promise<Slice> =>
      await closedLoops(site, arm, one, first, (sent) => sent < plan.comparedRequests);
    const [here, there] = [await ask('direct'), await ask('fermata')];
    for (const [number, label] of here.labels) {
      const other = there.labels.get(number);
      if (other === undefined) continue;
      compared += 1;
      if (other !== label) different += 1;
    }
  }
  return { compared, different };
}
