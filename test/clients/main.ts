/**
 * `npm run test:clients [-- claude-code | opencode]`: drives the real client programs against the whole
 * real stack, prints one bar a claim, and exits 1 if one is missed. A model of ours stands in for theirs;
 * besides the npm registry, at the first start, nothing outside this machine is reached.
 */
import { delimiter, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { isMet, publish } from '../../bench/bars.ts';
import type { Bar } from '../../bench/bars.ts';
import { parseSettings } from '../../contracts/settings.ts';
import { driveClaudeCode } from './claude-code.ts';
import type { ClientResult } from './claude-code.ts';
import { startClientStack } from './client-stack.ts';
import type { ClientStack } from './client-stack.ts';
import { driveOpenCode } from './opencode.ts';
import { startOutsideGuard } from './outside-guard.ts';
import type { OutsideGuard } from './outside-guard.ts';
import { claudeCode, installedProgram, openCode } from './pinned-clients.ts';
import type { PinnedClient } from './pinned-clients.ts';

const clientMs = 120_000;
const known = [claudeCode, openCode];

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

interface Drive {
  readonly client: PinnedClient;
  readonly program: string;
  readonly stack: ClientStack;
  readonly guard: OutsideGuard;
  readonly signal: AbortSignal;
}

async function drive({ client, program, stack, guard, signal }: Drive): Promise<ClientResult> {
  // Claude Code and OpenCode look for git, a shell and ripgrep; nothing else of ours is theirs to see.
  const env = {
    PATH: ['/usr/local/bin', '/usr/bin', '/bin', dirname(process.execPath)].join(delimiter),
    ...guard.env,
  };
  const bounds = { timeoutMs: clientMs, signal };
  return client === claudeCode
    ? await driveClaudeCode({ program, mcpUrl: stack.mcpUrl, env, ...bounds })
    : await driveOpenCode({ ...stack, program, engine: stack.scriptedEngine, env, ...bounds });
}

function show(client: PinnedClient, { ended, seen }: ClientResult, log: string): void {
  print(
    `\n${client.name} after ${Math.round(ended.wallMs)} ms${ended.timedOut ? ', killed at its bound' : ''}`,
  );
  print(`--- its output\n${ended.stdout.slice(-8_000)}\n--- its errors\n${ended.stderr.slice(-8_000)}`);
  print(`--- what the scripted model saw\n${JSON.stringify(seen, null, 1)}`);
  print(`--- warnings of the stack\n${log}\n`);
}

async function driveAll(clients: readonly PinnedClient[], signal: AbortSignal): Promise<0 | 1> {
  const { stateDir } = parseSettings(process.env);
  const programs = new Map<PinnedClient, string>();
  for (const client of clients) {
    const options = { stateDir, environment: process.env, signal, print };
    programs.set(client, await installedProgram(client, options));
  }
  const guard = await startOutsideGuard();
  const bars: Bar[] = [];
  const details: Record<string, unknown> = {};
  try {
    const stack = await startClientStack({ toolsDir: stateDir, environment: process.env, print });
    try {
      for (const [client, program] of programs) {
        print(`driving ${client.name} ${client.version} ...`);
        const result = await drive({ client, program, stack, guard, signal });
        signal.throwIfAborted();
        bars.push(...result.bars);
        details[client.name] = { wallMs: Math.round(result.ended.wallMs), ...result.seen };
        if (result.bars.some((one) => !isMet(one))) show(client, result, stack.warnings());
      }
    } finally {
      await stack.close();
    }
  } finally {
    await guard.close();
  }
  const packages = Object.fromEntries(clients.map((client) => [client.package, client.version]));
  return await publish('clients', bars, { packages, details: { ...details, outsideRefused: guard.refused } });
}

const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.find((name) => !known.some((client) => client.name === name));
if (unknown !== undefined) {
  print(`'${unknown}' is no client known here; known are ${known.map((client) => client.name).join(', ')}`);
  process.exit(2);
}
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(name)));
try {
  const wanted = known.filter((client) => positionals.length === 0 || positionals.includes(client.name));
  process.exit(await driveAll(wanted, stop.signal));
} catch (error) {
  print(
    stop.signal.aborted
      ? 'stopped'
      : `test:clients: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exit(stop.signal.aborted ? 130 : 1);
}
