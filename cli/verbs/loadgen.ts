/** `fermata loadgen`: load on the user's own pool, and what it was like. */
import { z } from 'zod';
import { parseSettings } from '../../contracts/settings.ts';
import { CommandFault, exitCodes, type ExitCode } from '../exit-codes.ts';
import { reportLoad, reportText } from '../loadgen/load-report.ts';
import { parseDuration, wholeNumber, type AgentsLoad } from '../loadgen/options.ts';
import { runAgents } from '../loadgen/own-loop.ts';
import type { SpawnReport } from '../loadgen/spawned-runs.ts';
import { count, duration, plural } from '../output/text.ts';
import { readWhere } from '../server/where.ts';
import { printerOf, type CommonOptions, type Verb, type World } from './verb.ts';

interface LoadgenOptions extends CommonOptions {
  readonly spawn?: number | undefined;
  readonly agents?: number | undefined;
  readonly task: string;
  readonly duration: string;
  readonly class: 'interactive' | 'batch';
  readonly model?: string | undefined;
  readonly proxy?: string | undefined;
  readonly turns: number;
  readonly pause: string;
  readonly 'prompt-tokens': number;
  readonly 'max-tokens': number;
  readonly seed: number;
}

export const loadgenVerb: Verb<LoadgenOptions> = {
  command: 'loadgen',
  describe: 'Put load on the pool: sub-agents over MCP, or agents with a loop of their own',
  options: (yargs) =>
    yargs
      .option('spawn', { type: 'number', describe: 'so many sub-agents at once, over MCP' })
      .option('agents', { type: 'number', describe: 'so many agents through the proxy, in a closed loop' })
      .option('task', {
        type: 'string',
        default: 'Look up the river {n} and say in one sentence where it ends.',
        describe: 'of each sub-agent; {n} is its number',
      })
      .option('duration', { type: 'string', default: '60s', describe: 'of --agents' })
      .option('class', { choices: ['interactive', 'batch'] as const, default: 'batch' as const })
      .option('model', { type: 'string', describe: 'default: the first one listed' })
      .option('proxy', { type: 'string', describe: 'address of the proxy (FERMATA_PROXY_URL)' })
      .option('turns', { type: 'number', default: 4, describe: 'model turns of a run of --agents' })
      .option('pause', { type: 'string', default: '1s', describe: 'between two turns, as a tool call takes' })
      .option('prompt-tokens', { type: 'number', default: 500, describe: 'of the first prompt, about' })
      .option('max-tokens', { type: 'number', default: 64, describe: 'of a reply' })
      .option('seed', { type: 'number', default: 1, describe: 'other seeds give other prompts' })
      .conflicts('spawn', 'agents')
      .example('$0 loadgen --spawn 10', 'ten sub-agents')
      .example('$0 loadgen --agents 8 --duration 60s --class batch --caller me', 'eight agents for a minute'),
  async run(args, world) {
    if (args.spawn !== undefined) return await spawnLoad(args, args.spawn, world);
    if (args.agents !== undefined) return await agentsLoad(args, args.agents, world);
    throw new CommandFault('loadgen: say --spawn N or --agents N', exitCodes.usage);
  },
};

async function spawnLoad(args: LoadgenOptions, runs: number, world: World): Promise<ExitCode> {
  const printer = printerOf(args.json, world);
  const where = readWhere(args, world.environment);
  const { runSpawned } = await import('../loadgen/spawned-runs.ts');
  const report = await runSpawned(
    {
      runs: wholeNumber('--spawn', runs, 1, 1_000),
      task: args.task,
      serviceClass: args.class,
      model: args.model ?? null,
      caller: where.caller,
    },
    {
      mcpUrl: `${where.url}/mcp`,
      token: where.token,
      interrupted: world.interrupted,
      onEnd: (ended) => printer.progress(`${ended} of ${runs} ended`),
    },
  );
  printer.answer(report, () => spawnText(report));
  return report.runs === (report.byStatus['Completed'] ?? 0) ? exitCodes.ok : exitCodes.runFailed;
}

function spawnText(report: SpawnReport): string {
  const statuses = Object.entries(report.byStatus).map(([status, runs]) => `${runs} ${status}`);
  const { p50, p95 } = report.endMs;
  const cached =
    report.cachedShare === null ? '' : `, ${Math.round(report.cachedShare * 100)} % of the prompts cached`;
  return [
    `${plural(report.runs, 'run')} in ${duration(report.totalMs)} (${statuses.join(', ')}); all were spawned after ${duration(report.spawnMs)}`,
    `half had ended after ${duration(p50 ?? 0)}, 95 % after ${duration(p95 ?? 0)}`,
    `${plural(report.turns, 'turn')}, ${plural(report.toolCalls, 'tool call')}, ${count(report.tokens)} tokens${cached}`,
  ].join('\n');
}

async function agentsLoad(args: LoadgenOptions, agents: number, world: World): Promise<ExitCode> {
  const printer = printerOf(args.json, world);
  const settings = parseSettings(world.environment);
  const proxyUrl = (args.proxy ?? settings.proxyUrls[0] ?? `http://${settings.host}:${settings.ports.proxy}`)
    .replace(/\/+$/, '')
    .replace(/\/v1$/, '');
  const load: AgentsLoad = {
    agents: wholeNumber('--agents', agents, 1, 1_000),
    durationMs: parseDuration('--duration', args.duration),
    serviceClass: args.class,
    caller: args.caller ?? null,
    model: args.model ?? null,
    turns: wholeNumber('--turns', args.turns, 1, 100),
    pauseMs: parseDuration('--pause', args.pause),
    promptTokens: wholeNumber('--prompt-tokens', args['prompt-tokens'], 1, 200_000),
    maxTokens: wholeNumber('--max-tokens', args['max-tokens'], 1, 100_000),
    seed: wholeNumber('--seed', args.seed, 0, 1_000_000_000),
  };
  const model = load.model ?? (await firstModel(proxyUrl, settings.token));
  const startedMs = world.nowMs();
  const seen = await runAgents(load, {
    proxyUrl,
    token: settings.token,
    model,
    interrupted: world.interrupted,
    onTurn: (turns, runs) =>
      printer.progress(
        `${duration(world.nowMs() - startedMs)} of ${duration(load.durationMs)}: ${plural(runs, 'run')}, ${plural(turns, 'turn')}`,
      ),
  });
  const report = reportLoad(seen);
  printer.answer({ model, load, ...report }, () => reportText(report));
  if (world.interrupted.aborted) return exitCodes.interrupted;
  return seen.turns.length > 0 && seen.failures.size === 0 ? exitCodes.ok : exitCodes.failed;
}

const modelsSchema = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

/** @throws CommandFault when the proxy does not answer, or has no model. */
async function firstModel(proxyUrl: string, token: string | null): Promise<string> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${proxyUrl}/v1/models`, { headers, signal: AbortSignal.timeout(10_000) })
    .then(async (response) => ({ status: response.status, body: await response.json() }))
    .catch((error: unknown) => {
      throw new CommandFault(
        `no proxy answers at ${proxyUrl}; start it with \`npm start\`, or name it with --proxy or FERMATA_PROXY_URL`,
        exitCodes.failed,
        { cause: error },
      );
    });
  const model = modelsSchema.safeParse(answer.body).data?.data[0]?.id;
  if (model !== undefined) return model;
  throw new CommandFault(
    answer.status === 401
      ? `the proxy at ${proxyUrl} wants a token that it knows; set FERMATA_TOKEN`
      : `the proxy at ${proxyUrl} lists no model (HTTP ${answer.status}); \`fermata doctor\` looks at its engines`,
  );
}
