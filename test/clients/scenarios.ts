/** What there is to drive: by name, in groups, with what each needs installed. */
import { dirname, join } from 'node:path';
import { driveClaudeCode } from './claude-code.ts';
import { driveClaudeCodeAgents } from './claude-code-agents.ts';
import { driveClaudeCodeBothDoors, driveClaudeCodeProxy } from './claude-code-proxy.ts';
import type { ClientResult } from './client-result.ts';
import type { ClientStack } from './client-stack.ts';
import { driveCodex, driveCodexBothDoors } from './codex.ts';
import { driveCodexAgents } from './codex-agents.ts';
import * as directed from './directed-agent.ts';
import { installedJsSdks, installedPythonSdk, jsPackages } from './installed-sdks.ts';
import { driveOpenCode } from './opencode.ts';
import {
  claudeCode,
  cline,
  codex,
  continueCli,
  geminiCli,
  installedProgram,
  openCode,
  qwenCode,
} from './pinned-clients.ts';
import * as examples from './examples.ts';
import type { FleetClient } from './fleet-clients.ts';
import * as fleets from './fleet-clients.ts';
import { driveFleet } from './fleet.ts';
import type { FleetExpectation } from './fleet.ts';
import type { InstallOptions, PinnedClient } from './pinned-clients.ts';
import { drivePatience } from './patience.ts';
import { driveSmoke } from './sdk-smoke.ts';

export interface DriveOptions {
  readonly stack: ClientStack;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Scenario {
  readonly name: string;
  /** What it is selected by beside its name. */
  readonly group: string;
  /** Large or slow to install: only driven when it is named. */
  readonly onlyNamed?: true;
  /** Exact version by package name. */
  readonly packages: Readonly<Record<string, string>>;
  /** @returns the program to start, or the folder with the packages. */
  install(options: InstallOptions): Promise<string>;
  drive(installed: string, options: DriveOptions): Promise<ClientResult>;
}

type Drive = (program: string, options: DriveOptions) => Promise<ClientResult>;

function ofClient(client: PinnedClient, suffix: string, drive: Drive): Scenario {
  return {
    name: `${client.name}${suffix}`,
    group: client.name,
    packages: { [client.package]: client.version },
    install: async (options) => await installedProgram(client, options),
    drive,
  };
}

function ofDirectedAgent(client: PinnedClient, agent: directed.DirectedAgent): Scenario {
  return ofClient(
    client,
    '',
    async (program, { stack, ...rest }) =>
      await directed.driveDirectedAgent(agent, {
        ...stack,
        name: client.name,
        program,
        model: simulatedModel,
        ...rest,
      }),
  );
}

/** The model of the simulated engines. */
const simulatedModel = 'sim-small';

/** An agent as a client of the MCP server; its long waits, over two minutes, only when they are named. */
function ofFleet(
  client: PinnedClient,
  fleet: FleetClient,
  showsProgress: boolean,
  ways: Readonly<Record<string, Pick<FleetExpectation, 'variant' | 'decidedBy' | 'declaresForms'>>>,
): Scenario[] {
  return [
    ...Object.entries(ways).map(([suffix, expected]) =>
      ofClient(
        client,
        suffix,
        async (program, options) => await driveFleet({ client: fleet, ...expected }, { program, ...options }),
      ),
    ),
    {
      ...ofClient(
        client,
        '-patience',
        async (program, options) => await drivePatience(fleet, showsProgress, { program, ...options }),
      ),
      onlyNamed: true,
    },
  ];
}

function ofJs(name: string): Scenario {
  return {
    name,
    group: 'js',
    packages: jsPackages,
    install: installedJsSdks,
    drive: async (folder, { stack, ...rest }) =>
      await driveSmoke({
        name,
        program: process.execPath,
        args: [join(folder, 'programs', `${name}.mjs`)],
        cwd: folder,
        proxyUrl: stack.proxyUrl,
        token: stack.token,
        model: simulatedModel,
        log: stack.log,
        ...rest,
      }),
  };
}

function ofPython(name: string, packages: Readonly<Record<string, string>>): Scenario {
  return {
    name,
    group: 'python',
    packages,
    install: async (options) => await installedPythonSdk(name, packages, options),
    drive: async (folder, { stack, ...rest }) =>
      await driveSmoke({
        name,
        program: join(folder, 'bin', 'python'),
        args: [join(folder, 'programs', `${name}.py`)],
        cwd: dirname(folder),
        proxyUrl: stack.proxyUrl,
        token: stack.token,
        model: simulatedModel,
        log: stack.log,
        ...rest,
      }),
  };
}

/** An agent of `examples/`, with the packages that it pins itself. */
function ofAgentExample(name: string): Scenario {
  return {
    name: `examples-${name}`,
    group: 'examples',
    packages: examples.exampleDependencies(name),
    install: async (options) => await examples.installedExample(name, options),
    drive: async (folder, { stack, ...rest }) =>
      await examples.driveAgentExample({
        name,
        folder,
        proxyUrl: stack.proxyUrl,
        token: stack.token,
        model: simulatedModel,
        log: stack.log,
        ...rest,
      }),
  };
}

/** The file of `examples/clients` for a client. */
function ofClientExample(client: PinnedClient, file: examples.ClientFile): Scenario {
  const drive: Drive = async (program, { stack, ...rest }) =>
    await examples.driveClientExample({ client: file, program, ...stack, ...rest });
  return { ...ofClient(client, '', drive), name: `examples-${client.name}`, group: 'examples' };
}

export const scenarios: readonly Scenario[] = [
  ofClient(
    claudeCode,
    '',
    async (program, { stack, ...rest }) => await driveClaudeCode({ ...stack, program, ...rest }),
  ),
  ofClient(
    claudeCode,
    '-proxy',
    async (program, { stack, ...rest }) =>
      await driveClaudeCodeProxy({ ...stack, program, pair: stack.messagesPair, ...rest }),
  ),
  ofClient(
    claudeCode,
    '-both-doors',
    async (program, { stack, ...rest }) =>
      await driveClaudeCodeBothDoors({ ...stack, program, pair: stack.messagesPair, ...rest }),
  ),
  ofClient(
    claudeCode,
    '-agents',
    async (program, { stack, ...rest }) =>
      await driveClaudeCodeAgents({ ...stack, program, pair: stack.messagesPair, ...rest }),
  ),
  ofClient(
    codex,
    '',
    async (program, { stack, ...rest }) =>
      await driveCodex({ ...stack, program, pair: stack.responsesPair, ...rest }),
  ),
  ofClient(
    codex,
    '-both-doors',
    async (program, { stack, ...rest }) =>
      await driveCodexBothDoors({ ...stack, program, pair: stack.responsesPair, ...rest }),
  ),
  ofClient(
    codex,
    '-agents',
    async (program, { stack, ...rest }) =>
      await driveCodexAgents({ ...stack, program, pair: stack.responsesPair, ...rest }),
  ),
  ofClient(
    openCode,
    '',
    async (program, { stack, ...rest }) =>
      await driveOpenCode({ ...stack, program, engine: stack.scriptedEngine, ...rest }),
  ),
  ...ofFleet(claudeCode, fleets.claudeCodeFleet, true, {
    '-fleet': { variant: 'no forms', decidedBy: 'approve', declaresForms: true },
    '-fleet-hook': { variant: 'hook', decidedBy: 'form', declaresForms: true },
    '-fleet-person': { variant: 'person', decidedBy: 'form', declaresForms: true },
    '-fleet-plain': { variant: 'plain', decidedBy: 'nobody', declaresForms: true },
  }),
  ...ofFleet(codex, fleets.codexFleet, false, {
    '-fleet': { variant: 'no forms', decidedBy: 'approve', declaresForms: true },
    '-fleet-person': { variant: 'person', decidedBy: 'form', declaresForms: true },
    '-fleet-plain': { variant: 'plain', decidedBy: 'nobody', declaresForms: true },
  }),
  ...ofFleet(openCode, fleets.openCodeFleet, false, {
    '-fleet': { variant: 'plain', decidedBy: 'approve', declaresForms: false },
    '-fleet-person': { variant: 'person', decidedBy: 'approve', declaresForms: false },
  }),
  ...ofFleet(geminiCli, fleets.geminiFleet, true, {
    '-fleet': { variant: 'plain', decidedBy: 'approve', declaresForms: false },
    '-fleet-person': { variant: 'person', decidedBy: 'approve', declaresForms: false },
  }),
  ofDirectedAgent(qwenCode, directed.qwenCode),
  ofDirectedAgent(continueCli, directed.continueCli),
  { ...ofDirectedAgent(cline, directed.cline), onlyNamed: true },
  ofJs('ai-sdk'),
  ofJs('ai-sdk-responses'),
  ofJs('langchain-js'),
  ofJs('anthropic-js'),
  ofPython('openai-python', { openai: '3.57.0' }),
  ofPython('langchain-python', { 'langchain-openai': '1.7.4' }),
  ofPython('openai-agents', { 'openai-agents': '0.24.0' }),
  ofPython('pydantic-ai', { 'pydantic-ai-slim[openai]': '2.68.0' }),
  ofAgentExample('openai-agents'),
  ofAgentExample('langgraph'),
  ofAgentExample('vercel-ai'),
  ofClientExample(claudeCode, examples.clientFiles.claudeCode),
  ofClientExample(codex, examples.clientFiles.codex),
  ofClientExample(openCode, examples.clientFiles.openCode),
  ofClientExample(geminiCli, examples.clientFiles.geminiCli),
  { ...ofPython('llamaindex', { 'llama-index-llms-openai-like': '0.8.1' }), onlyNamed: true },
];

/** @throws RangeError that names what is known, when a name is neither a scenario's nor a group's. */
export function selectScenarios(names: readonly string[]): readonly Scenario[] {
  const known = new Set(scenarios.flatMap(({ name, group }) => [group, name]));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new RangeError(`'${unknown}' is no client known here; known are ${[...known].join(', ')}`);
  }
  if (names.length === 0) return scenarios.filter(({ onlyNamed }) => onlyNamed !== true);
  // 'claude-code' is both a group and the first of it: the group is meant.
  return scenarios.filter(({ name, group }) => names.includes(name) || names.includes(group));
}
