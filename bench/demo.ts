/**
 * `npm run demo`: the whole path once, on free ports and in a state directory of its own. 16 sub-agents
 * are spawned with an MCP client of each era and awaited together; then the same 16 tasks run one after
 * the other, for the speed-up. Exits 0 only if all 16 completed and every one used a tool.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { startStack, type Stack } from '../cli/embedded-stack.ts';
import { openLog } from '../cli/log-file.ts';
import { parseSettings } from '../contracts/settings.ts';
import { bar, publish } from './bars.ts';
import { connectLegacy, connectModern, type ToolClient } from './mcp-clients.ts';
import { closeWhenInterrupted } from './site/end-with-this-process.ts';

const rivers = [
  'Amazon',
  'Congo',
  'Danube',
  'Elbe',
  'Ganges',
  'Indus',
  'Loire',
  'Mekong',
  'Nile',
  'Oder',
  'Po',
  'Rhine',
  'Seine',
  'Tiber',
  'Volga',
  'Yukon',
];

const outcomeSchema = z.looseObject({
  handle: z.string(),
  status: z.string(),
  toolCalls: z.number(),
  usage: z.looseObject({ promptTokens: z.number(), completionTokens: z.number() }),
});
const awaitedSchema = z.looseObject({ done: z.boolean(), runs: z.array(outcomeSchema) });
const spawnedSchema = z.looseObject({ handle: z.string() });
type Outcome = z.infer<typeof outcomeSchema>;

const taskOf = (river: string): string => `Find out where the river ${river} ends. Look it up first.`;

async function spawnRun(client: ToolClient, river: string): Promise<string> {
  return spawnedSchema.parse(await client.call('spawn', { task: taskOf(river) })).handle;
}

async function awaitAll(client: ToolClient, handles: readonly string[]): Promise<Outcome[]> {
  const outcomes = new Map<string, Outcome>();
  // Bounded: 20 times the longest wait of one call.
  for (let round = 0; round < 20 && outcomes.size < handles.length; round += 1) {
    const open = handles.filter((handle) => !outcomes.has(handle));
    const answer = awaitedSchema.parse(await client.call('await', { handles: open, timeoutSeconds: 45 }));
    for (const run of answer.runs) {
      if (['Completed', 'Failed', 'Cancelled'].includes(run.status)) outcomes.set(run.handle, run);
    }
  }
  return handles.flatMap((handle) => outcomes.get(handle) ?? []);
}

interface Row extends Outcome {
  readonly river: string;
  readonly era: string;
  readonly seconds: number;
}

async function runTogether(clients: readonly ToolClient[]): Promise<{ rows: Row[]; seconds: number }> {
  const startedAtMs = performance.now();
  const rows = await Promise.all(
    rivers.map(async (river, index) => {
      const client = clients[index % clients.length];
      if (client === undefined) throw new RangeError('no client');
      const handle = await spawnRun(client, river);
      const [outcome] = await awaitAll(client, [handle]);
      if (outcome === undefined) throw new Error(`${handle} did not end`);
      return { ...outcome, river, era: client.era, seconds: (performance.now() - startedAtMs) / 1_000 };
    }),
  );
  return { rows, seconds: (performance.now() - startedAtMs) / 1_000 };
}

async function runOneByOne(client: ToolClient): Promise<number> {
  const startedAtMs = performance.now();
  for (const river of rivers) await awaitAll(client, [await spawnRun(client, river)]);
  return (performance.now() - startedAtMs) / 1_000;
}

function printTable(rows: readonly Row[]): void {
  const line = (cells: readonly string[]): string =>
    [
      cells[0]?.padEnd(10),
      cells[1]?.padEnd(11),
      cells[2]?.padEnd(10),
      ...cells.slice(3).map((cell) => cell.padStart(10)),
    ].join(' ');
  console.log(line(['river', 'client', 'status', 'tool calls', 'tokens', 'seconds']));
  for (const row of rows) {
    const tokens = row.usage.promptTokens + row.usage.completionTokens;
    console.log(
      line([row.river, row.era, row.status, String(row.toolCalls), String(tokens), row.seconds.toFixed(1)]),
    );
  }
}

async function demo(stack: Stack): Promise<0 | 1> {
  const clients = [await connectModern(stack.mcpUrl), await connectLegacy(stack.mcpUrl)];
  const [first] = clients;
  if (first === undefined) throw new RangeError('no client');
  console.log(`16 sub-agents side by side, through ${stack.mcpUrl} ...`);
  const { rows, seconds } = await runTogether(clients);
  printTable(rows);
  console.log(`the same 16 one after the other ...`);
  const sequentialSeconds = await runOneByOne(first);
  console.log(
    `side by side ${seconds.toFixed(1)} s, one after the other ${sequentialSeconds.toFixed(1)} s: ${(sequentialSeconds / seconds).toFixed(1)} times faster`,
  );
  for (const client of clients) await client.close();
  return await publish(
    'demo',
    [
      bar('runs completed', rows.filter((row) => row.status === 'Completed').length, '=', rivers.length),
      bar('runs that used a tool', rows.filter((row) => row.toolCalls > 0).length, '=', rivers.length),
    ],
    { details: { rows, seconds, sequentialSeconds, speedUp: sequentialSeconds / seconds } },
  );
}

const stateDir = await mkdtemp(join(tmpdir(), 'fermata-demo-'));
const anyPort = Object.fromEntries(
  ['PROXY', 'MCP', 'SCHEDULER', 'WORKER', 'TEMPORAL', 'TEMPORAL_UI'].map((name) => [
    `FERMATA_${name}_PORT`,
    '0',
  ]),
);
const starting = startStack({
  settings: parseSettings({ ...anyPort, FERMATA_STATE_DIR: stateDir }),
  // Programs are fetched once, into the checkout's own state directory.
  toolsDir: join(import.meta.dirname, '..', '.fermata'),
  environment: process.env,
  temporal: null,
  config: null,
  engine: 'simulated',
  separate: false,
  logger: openLog(join(stateDir, 'fermata.log'), 'info'),
  progress: (line) => process.stderr.write(`${line}\n`),
});
let closing: Promise<void> | null = null;
const close = async (): Promise<void> => await (closing ??= closeAll());
closeWhenInterrupted(starting.then(() => ({ close })));
const stack = await starting;
let code: 0 | 1 = 1;
try {
  code = await demo(stack);
} finally {
  await close();
}
process.exit(code);

async function closeAll(): Promise<void> {
  await stack.close();
  await rm(stateDir, { recursive: true, force: true });
}
