/**
 * A framework whose model is behind the proxy: its program does what `sdks/smoke.mjs` lists, and what it
 * tells is judged beside what the proxy's access log says of the same requests, found by their caller.
 */
import { z } from 'zod';
import { bar } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import { runBounded } from './bounded-process.ts';
import type { ClientResult } from './client-result.ts';
import type { LoggedRun, TurnLog } from './turn-log.ts';

const failureSchema = z.object({ name: z.string(), status: z.number().nullish(), message: z.string() });
const toldSchema = z.object({
  text: z.string(),
  pieces: z.array(z.string()),
  loops: z.array(
    z.object({
      run: z.string().nullable(),
      streaming: z.boolean(),
      text: z.string(),
      calls: z.array(z.string()),
      /** null: the framework hides the headers of a response. */
      runs: z.array(z.string().nullable()).nullable(),
    }),
  ),
  unknownModel: failureSchema.nullable(),
  rateLimit: failureSchema.nullable(),
  ownRateLimit: failureSchema.nullable(),
});
type Told = z.infer<typeof toldSchema>;

const word = 'heron';
const ownLimitWords = 'requests a minute';
const unknownModelWords = "serves model 'no-such-model'";

/** The last line of the output that is what a program tells; null when there is none. */
export function readTold(output: string): Told | null {
  for (const line of output.trimEnd().split('\n').toReversed()) {
    try {
      return toldSchema.parse(JSON.parse(line));
    } catch {
      // A framework prints warnings of its own.
    }
  }
  return null;
}

function loopBars(name: string, told: Told | null, runs: readonly LoggedRun[]): Bar[] {
  const loops = told?.loops ?? [];
  const ofLog = (by: (run: LoggedRun) => boolean): number => runs.filter(by).length;
  const isOnePausedRun = (run: LoggedRun): boolean =>
    run.turns.length === 2 && run.pauses === 1 && run.replicas.length === 1;
  const nameless = (run: LoggedRun): boolean => run.turns.every(({ runBy }) => runBy !== 'header');
  const shown = loops.filter((loop) => loop.runs !== null);
  return [
    bar(
      `${name} tool loops that ended right`,
      loops.filter((loop) => loop.text === `Looked up: ${word}.` && loop.calls.join() === 'lookup').length,
      '=',
      4,
    ),
    bar(`${name} runs in the access log`, runs.length, '=', 4),
    bar(
      `${name} runs with a header, of two turns and a pause`,
      ofLog((run) => isOnePausedRun(run) && loops.some((loop) => loop.run === run.name)),
      '=',
      2,
    ),
    bar(
      `${name} runs without a header, of two turns and a pause`,
      ofLog((run) => isOnePausedRun(run) && nameless(run)),
      '=',
      2,
    ),
    ...(shown.length === 0 ? [] : [namingBar(name, shown)]),
  ];
}

/** Of a framework that shows the headers of its responses. */
function namingBar(name: string, shown: Told['loops']): Bar {
  return bar(
    `${name} loops whose responses name one run`,
    shown.filter(
      ({ run, runs: ids }) =>
        ids !== null &&
        ids.length === 2 &&
        ids[0] === ids[1] &&
        (run === null ? ids[0] !== null : ids[0] === run),
    ).length,
    '=',
    shown.length,
  );
}

export function smokeBars(name: string, told: Told | null, runs: readonly LoggedRun[]): Bar[] {
  const said = `The word is ${word}.`;
  const is = (met: boolean | undefined): number => (met === true ? 1 : 0);
  return [
    bar(`${name} right answers`, is(told?.text === said), '=', 1),
    bar(`${name} streams put together right`, is(told?.pieces.join('') === said), '=', 1),
    bar(`${name} pieces of the stream`, told?.pieces.length ?? null, '>=', 2),
    ...loopBars(name, told, runs),
    bar(
      `${name} unknown models told as such`,
      is(
        told?.unknownModel?.message.includes(unknownModelWords) === true && told.unknownModel.status === 404,
      ),
      '=',
      1,
    ),
    bar(`${name} rate limits of the engine told as such`, is(told?.rateLimit?.status === 429), '=', 1),
    bar(
      `${name} rate limits of the proxy told as such`,
      is(told?.ownRateLimit?.status === 429 && told.ownRateLimit.message.includes(ownLimitWords)),
      '=',
      1,
    ),
  ];
}

/** The caller whose second request in a minute is refused. */
export const limitedCaller = 'limited';

export interface SmokeOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly proxyUrl: string;
  readonly token: string;
  readonly model: string;
  readonly log: TurnLog;
  /** The whole environment, beside what the program is told. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export async function driveSmoke(options: SmokeOptions): Promise<ClientResult> {
  const { name, log } = options;
  const ended = await runBounded(options.program, options.args, {
    cwd: options.cwd,
    env: {
      ...options.env,
      SMOKE_PROXY_URL: options.proxyUrl,
      SMOKE_MODEL: options.model,
      SMOKE_TOKEN: options.token,
      SMOKE_LIMITED_CALLER: limitedCaller,
      SMOKE_CALLER: name,
      SMOKE_WORD: word,
    },
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  });
  const told = readTold(ended.stdout);
  const ofLoops = (turn: { caller: string | null }): boolean => turn.caller === name;
  await log.until(told === null ? 0 : 8, ofLoops);
  const runs = log.runs(ofLoops);
  return {
    bars: [...smokeBars(name, told, runs), bar(`${name} exit code`, ended.code, '=', 0)],
    ended: [ended],
    seen: { told, runs },
  };
}
