/** The whole stack behind tokens, as a user starts it: one token; named ones; each service on its own. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { bearer, sha256 } from '../auth/test-access.ts';
import { connectClient } from '../mcp-server/mcp-clients.ts';
import { eventually, runUp, type Ready, type UpProcess } from './run-up.ts';

const root = resolve(import.meta.dirname, '..', '..');
const token = 'one-token-for-everything-0123456789';
const annsToken = 'the-token-of-ann-0123456789';
const opsToken = 'the-token-of-ops-0123456789';

let stateDir = '';
let tokensFile = '';
let started: UpProcess[] = [];
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fermata-up-tokens-'));
  tokensFile = join(stateDir, 'tokens.yaml');
  started = [];
});
afterEach(async () => {
  for (const up of started) up.signal('SIGTERM');
  await Promise.all(started.map(async (up) => await up.ended));
  await rm(stateDir, { recursive: true, force: true });
});

function start(environment: Record<string, string>, args: readonly string[] = []): UpProcess {
  const up = runUp({ stateDir, temporalBinary: inject('temporalBinary'), environment, args });
  started.push(up);
  return up;
}

async function writeTokens(...entries: Record<string, unknown>[]): Promise<void> {
  await writeFile(tokensFile, JSON.stringify(entries), { mode: 0o600 });
}

/** A sub-agent from spawn to its answer, a decision, and an agent with a loop of its own. */
async function useEverything(ready: Ready, secret: string): Promise<void> {
  const client = await connectClient('modern', ready.mcpUrl, 'test', bearer(secret));
  const { structured } = await client.call('spawn', { task: 'Where does the Nile end?' });
  const handles = [String(structured['handle'])];
  const awaited = await client.call('await', { handles, timeoutSeconds: 60 });
  expect(awaited.structured).toMatchObject({ done: true, runs: [{ status: 'Completed' }] });
  const decided = await client.call('decide', { input: 'Is it a river?', labels: ['yes', 'no'] });
  expect([decided.isError, decided.text]).toEqual([false, decided.text]);
  await client.close();

  const openai = new OpenAI({ baseURL: `${ready.proxyUrl}/v1`, apiKey: secret, maxRetries: 0 });
  const model = (await openai.models.list()).data[0]?.id ?? '';
  const messages = [{ role: 'user' as const, content: 'Name a river.' }];
  const stream = await openai.chat.completions.create({ model, messages, stream: true });
  let words = '';
  for await (const chunk of stream) words += chunk.choices[0]?.delta.content ?? '';
  expect(words).not.toBe('');
}

async function statusesWith(ready: Ready, headers: Record<string, string>): Promise<number[]> {
  const urls = [`${ready.proxyUrl}/v1/models`, ready.mcpUrl, `${ready.schedulerUrl}/status`];
  return await Promise.all(urls.map(async (url) => (await fetch(url, { headers })).status));
}

/** Everything that was written anywhere: logs, the effective configuration, what was printed. */
async function writtenBy(up: UpProcess): Promise<string> {
  const files = (await readdir(stateDir, { recursive: true, withFileTypes: true }))
    .filter((file) => file.isFile() && !file.name.startsWith('temporal.db') && file.name !== 'workflows.js')
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => path !== tokensFile);
  const texts = await Promise.all(files.map(async (path) => await readFile(path, 'utf8')));
  return [up.stderr(), ...texts].join('\n');
}

describe('fermata up', () => {
  it('with FERMATA_TOKEN works for whoever has it and for nobody else, and writes it nowhere', async () => {
    const up = start({ FERMATA_TOKEN: token });
    const ready = await up.ready;
    expect(JSON.stringify(ready)).not.toContain(token);
    expect(await statusesWith(ready, {})).toEqual([401, 401, 401]);
    expect(await statusesWith(ready, bearer('wrong'))).toEqual([401, 401, 401]);
    await useEverything(ready, token);
    expect((await statusesWith(ready, bearer(token)))[2]).toBe(200);

    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ['--import', 'tsx', join(root, 'cli', 'main.ts'), 'mcp'],
      cwd: root,
      stderr: 'ignore',
      env: {
        PATH: process.env['PATH'] ?? '',
        FERMATA_TOKEN: token,
        FERMATA_PROXY_URL: ready.proxyUrl,
        TEMPORAL_ADDRESS: ready.temporal.address,
      },
    });
    const stdio = new Client({ name: 'stdio', version: '1' });
    await stdio.connect(transport);
    const decided = await stdio.callTool({ name: 'decide', arguments: { input: 'x', labels: ['a', 'b'] } });
    expect(decided.isError ?? false).toBe(false);
    await stdio.close();

    expect(up.stderr()).not.toContain('everyone is let in');
    expect(await writtenBy(up)).not.toContain(token);
  });

  it('with named tokens alone lets the services speak to each other, and follows the file', async () => {
    await writeTokens(
      { name: 'ann', sha256: sha256(annsToken) },
      { name: 'ops', sha256: sha256(opsToken), admin: true },
    );
    const up = start({ FERMATA_TOKENS_FILE: tokensFile });
    const ready = await up.ready;
    expect(await statusesWith(ready, {})).toEqual([401, 401, 401]);
    await useEverything(ready, annsToken);
    expect((await statusesWith(ready, bearer(annsToken)))[2]).toBe(403);
    expect((await statusesWith(ready, bearer(opsToken)))[2]).toBe(200);
    await writeTokens({ name: 'ops', sha256: sha256(opsToken), admin: true });
    await eventually(
      'the token of ann is taken away',
      async () => (await statusesWith(ready, bearer(annsToken)))[0] === 401,
    );
    await useEverything(ready, opsToken);
    expect(await writtenBy(up)).not.toContain(annsToken);
  });

  it('with named tokens alone and --separate hands one token to each of its services', async () => {
    await writeTokens({ name: 'ann', sha256: sha256(annsToken) });
    const up = start({ FERMATA_TOKENS_FILE: tokensFile }, ['--separate']);
    const ready = await up.ready;
    expect(await statusesWith(ready, {})).toEqual([401, 401, 401]);
    await useEverything(ready, annsToken);
    expect(await writtenBy(up)).not.toContain(annsToken);
  });

  it('says in a line what is wrong with its tokens file, and leaves nothing running', async () => {
    await writeTokens({ name: 'ann', sha256: annsToken });
    const { code, stderr } = await start({ FERMATA_TOKENS_FILE: tokensFile }).ended;
    expect(code).toBe(1);
    expect(stderr).toBe(
      `fermata: ${tokensFile}: [0].sha256: must be the 64 hex digits of the SHA-256 of the token\n`,
    );
    expect(stderr).not.toContain(annsToken);
  });
});
