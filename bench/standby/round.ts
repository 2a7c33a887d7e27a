/**
 * One take-over: the active scheduler is killed while turns are in flight, runs are paused and turns wait. How long
 * until a turn is admitted again, and what of the places, reservations and the order has been kept?
 *
 * The pool has six places. Two interactive runs are paused and have one each; four batch turns fly; more wait in
 * order. After the kill one of the paused runs goes on. It must come to its own replica, and beside it nobody may be
 * admitted, for the place of the other paused run is kept. When it has ended, those who wait go one by one.
 */
import type { SimEngine } from '../../testkit/sim-engine/host.ts';
import type { HeldStream } from '../../testkit/sim-engine/holds.ts';
import {
  eventually,
  placesEach,
  replicas,
  type ReplicaName,
  type SchedulerProcess,
  type StandbySite,
} from './site.ts';

export interface RoundResult {
  /** From the kill to the first turn that reaches an engine again. */
  readonly takeoverMs: number;
  /** The paused runs came back to their replicas. */
  readonly affinityKept: boolean;
  /** Nobody took the place of the run that stayed paused. */
  readonly reservationKept: boolean;
  /** Those who waited were admitted in this order, and had come in that one. */
  readonly admitted: readonly string[];
  readonly waited: readonly string[];
  /** Requests that were not answered with 200. */
  readonly failed: number;
}

/** Turns that wait while the scheduler is killed. */
const waitingTurns = 5;

interface Reply {
  readonly status: number;
  readonly replica: string | null;
  readonly text: string;
}

/** How the active one ceases to be it, and how it is there again. */
export interface End {
  end(active: SchedulerProcess): Promise<unknown>;
  restore(active: SchedulerProcess): Promise<void>;
}

export const ends = {
  /** kill -9. */
  killed: { end: async (active) => await active.kill(), restore: async (active) => await active.start() },
  /** SIGTERM. */
  stopped: { end: async (active) => await active.stop(), restore: async (active) => await active.start() },
  /** SIGSTOP, and SIGCONT once another is active. */
  frozen: {
    end: async (active) => active.signal('SIGSTOP'),
    restore: async (active) => active.signal('SIGCONT'),
  },
} as const satisfies Readonly<Record<string, End>>;

export async function playRound(
  site: StandbySite,
  round: number,
  { end, restore }: End = ends.killed,
): Promise<RoundResult> {
  const { active } = await site.settled();
  await eventually('the proxy is linked', async () => (await site.gauge('fermata_proxy_link_up')) === 1);
  const resumes = await pauseRun(site, `resumes-${round}`);
  const stays = await pauseRun(site, `stays-${round}`);
  const flying = await fly(site, round, replicas.length * placesEach - 2);
  const waited: string[] = [];
  const waiting: Promise<Reply>[] = [];
  for (let index = 0; index < waitingTurns; index += 1) {
    const run = `waits-${round}-${index}`;
    waited.push(run);
    waiting.push(ask(site, run, 'batch', [directed(run, { calls: [] })]));
    await held(site, index + 1);
  }

  const holds = replicas.map((id) => [id, holdRun(site.engines[id], `resumes-${round}`)] as const);
  const killedMs = performance.now();
  // Not before: one that is told to stop admits what comes until it hears of it.
  await end(active);
  const resumed = resumes.goOn();
  const [resumedOn, hold] = await Promise.race(
    holds.map(async ([id, one]) => {
      await one.arrived;
      return [id, one] as const;
    }),
  );
  const takeoverMs = performance.now() - killedMs;
  const stillWaiting = await site.gauge('fermata_proxy_held');
  const restored = restore(active);

  hold.releaseAll();
  const replies = [await resumed, ...(await Promise.all(waiting))];
  const admitted = arrivalsOf(site, waited);
  const stayed = await stays.goOn();
  for (const one of flying.holds) one.releaseAll();
  replies.push(stayed, ...(await Promise.all(flying.replies)));
  await restored;
  return {
    takeoverMs,
    affinityKept: resumedOn === resumes.replica && stayed.replica === stays.replica,
    reservationKept: stillWaiting === waitingTurns,
    admitted,
    waited,
    failed: replies.filter(({ status }) => status !== 200).length,
  };
}

interface PausedRun {
  readonly replica: string | null;
  /** Its next turn, after its tool has answered. */
  goOn(): Promise<Reply>;
}

async function pauseRun(site: StandbySite, run: string): Promise<PausedRun> {
  const first = directed(run, { calls: ['lookup'], answer: 'done' });
  const reply = await ask(site, run, 'interactive', [first]);
  const call = /"id":\s*"(call_[^"]+)"/.exec(reply.text)?.[1];
  if (reply.status !== 200 || call === undefined) throw new Error(`${run} did not pause: ${reply.text}`);
  const lookup = { id: call, type: 'function', function: { name: 'lookup', arguments: '{"topic":"x"}' } };
  const messages = [
    first,
    { role: 'assistant', content: null, tool_calls: [lookup] },
    { role: 'tool', tool_call_id: call, content: 'found' },
  ];
  return { replica: reply.replica, goOn: async () => await ask(site, run, 'interactive', messages) };
}

/** Turns in flight that stay so until they are let go. */
async function fly(
  site: StandbySite,
  round: number,
  count: number,
): Promise<{ readonly holds: readonly HeldStream[]; readonly replies: readonly Promise<Reply>[] }> {
  const holds: HeldStream[] = [];
  const replies: Promise<Reply>[] = [];
  for (let index = 0; index < count; index += 1) {
    const run = `flies-${round}-${index}`;
    const own = replicas.map((id) => holdRun(site.engines[id], run));
    replies.push(ask(site, run, 'batch', [directed(run, { calls: [] })]));
    await Promise.race(own.map(async ({ arrived }) => await arrived));
    holds.push(...own);
  }
  return { holds, replies };
}

function directed(run: string, directive: object): object {
  return { role: 'user', content: `[[sim ${JSON.stringify(directive)}]] This is ${run}.` };
}

function holdRun(engine: SimEngine, run: string): HeldStream {
  return engine.holdNext(({ body }) => names(body, run));
}

function names(body: unknown, run: string): boolean {
  return JSON.stringify(body).includes(`This is ${run}.`);
}

async function held(site: StandbySite, count: number): Promise<void> {
  await eventually(`${count} turns wait`, async () => (await site.gauge('fermata_proxy_held')) === count);
}

async function ask(
  { proxyUrl, engines }: StandbySite,
  run: string,
  serviceClass: 'interactive' | 'batch',
  messages: readonly object[],
): Promise<Reply> {
  const parameters = { type: 'object', properties: { topic: { type: 'string' } } };
  const response = await fetch(`${proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-fermata-run-id': run,
      'x-fermata-class': serviceClass,
    },
    body: JSON.stringify({
      model: engines.a.model,
      stream: true,
      max_tokens: 16,
      messages,
      tools: [{ type: 'function', function: { name: 'lookup', description: 'Looks up.', parameters } }],
    }),
  });
  return {
    status: response.status,
    replica: response.headers.get('x-fermata-replica'),
    text: await response.text(),
  };
}

/** In the order in which they reached the engines, whose clock is one. */
function arrivalsOf({ engines }: StandbySite, runs: readonly string[]): string[] {
  return replicas
    .flatMap((id: ReplicaName) => engines[id].requests())
    .toSorted((one, other) => one.arrivedAtMs - other.arrivedAtMs)
    .flatMap(({ body }) => runs.filter((run) => names(body, run)));
}
