import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createAccess } from '../../../auth/access.ts';
import { checkDisk } from '../../../cli/doctor/local-checks.ts';
import { doctorVerb } from '../../../cli/verbs/doctor.ts';
import { createMcpServer } from '../../../mcp-server/create-mcp-server.ts';
import { startSimEngine } from '../../../testkit/sim-engine/host.ts';
import { startToolServer } from '../../../testkit/tool-server/host.ts';
import { runFermata } from '../run-fermata.ts';

const reportSchema = z.object({
  ok: z.boolean(),
  findings: z.array(
    z.object({ subject: z.string(), level: z.string(), says: z.string(), remedy: z.string().nullable() }),
  ),
});

let folder = '';
let closing: { close(): Promise<unknown> }[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fermata-doctor-'));
});
afterEach(async () => {
  await Promise.all(closing.map(async (one) => await one.close()));
  closing = [];
  await rm(folder, { recursive: true, force: true });
});

function keep<T extends { close(): Promise<unknown> }>(one: T): T {
  closing.push(one);
  return one;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closing.push({
    close: async () =>
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
  return (server.address() as AddressInfo).port;
}

/** A port on which nobody listens any more. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await closing.pop()?.close();
  return port;
}

/** Nothing of a stack that may run on this machine is looked at: no port is asked about. */
const noPorts = Object.fromEntries(
  ['PROXY', 'MCP', 'SCHEDULER', 'WORKER'].map((name) => [`FERMATA_${name}_PORT`, '0']),
);

/** The command in this process: what it finds that is wrong. */
async function doctor(
  environment: Record<string, string> = {},
  { url, config }: { url?: string; config?: unknown } = {},
) {
  const file = join(folder, 'pool.yaml');
  if (config !== undefined) {
    await writeFile(file, typeof config === 'string' ? config : JSON.stringify(config));
  }
  const temporalPort = String(await closedPort());
  let stdout = '';
  const out = new Writable({
    write(chunk: Buffer, _, done) {
      stdout += chunk.toString('utf8');
      done();
    },
  });
  const code = await doctorVerb.run(
    { _: [], $0: 'fermata', url, ...(config === undefined ? {} : { config: file }) },
    {
      environment: {
        ...noPorts,
        FERMATA_TEMPORAL_PORT: temporalPort,
        FERMATA_STATE_DIR: folder,
        ...environment,
      },
      stdin: process.stdin,
      stdout: out,
      stderr: out,
      interrupted: new AbortController().signal,
      nowMs: Date.now,
    },
  );
  const { ok, findings } = reportSchema.parse(JSON.parse(stdout));
  expect(code).toBe(ok ? 0 : 1);
  return findings.filter(({ level }) => level === 'fault');
}

async function engineOf(fields: Record<string, unknown> = {}): Promise<{ pool: unknown[] }> {
  const engine = keep(await startSimEngine());
  return { pool: [{ id: 'sim', url: engine.url, engine: 'vllm', ...fields }] };
}

describe('fermata doctor', () => {
  it('finds nothing where nothing is wrong', async () => {
    const tools = keep(await startToolServer());
    const config = { ...(await engineOf()), tools: { mcpServers: { demo: { url: tools.url } } } };
    expect(await doctor({}, { config })).toEqual([]);
  });

  it('names a port that another program has', async () => {
    const port = await listen(createServer((_, response) => response.end('somebody else')));
    expect(await doctor({ FERMATA_PROXY_PORT: String(port) })).toEqual([
      {
        subject: `port ${port}`,
        level: 'fault',
        says: expect.stringContaining('proxy cannot start there (FERMATA_PROXY_PORT)'),
        remedy: expect.stringContaining('set FERMATA_PROXY_PORT to another port'),
      },
    ]);
  });

  it('says that Temporal is down where it was named', async () => {
    const address = `127.0.0.1:${await closedPort()}`;
    expect(await doctor({ TEMPORAL_ADDRESS: address })).toMatchObject([
      {
        subject: 'temporal',
        says: `Temporal at ${address} does not answer (ECONNREFUSED)`,
        remedy: expect.stringContaining('TEMPORAL_ADDRESS'),
      },
    ]);
  });

  it('says that an engine is down', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    expect(await doctor({}, { config: { pool: [{ id: 'gone', url }] } })).toMatchObject([
      {
        subject: 'engine gone',
        says: `it does not answer at ${url} (ECONNREFUSED)`,
        remedy: expect.stringContaining('start the engine'),
      },
    ]);
  });

  it('names a model that the engine does not serve, and those it does', async () => {
    expect(await doctor({}, { config: await engineOf({ models: ['llama-9'] }) })).toMatchObject([
      {
        subject: 'engine sim',
        says: 'it does not serve llama-9; it serves sim-small',
        remedy: expect.stringContaining('correct models'),
      },
    ]);
  });

  it('names a tool server that hangs, and asks the others all the same', async () => {
    const port = await listen(createServer(() => undefined));
    const tools = keep(await startToolServer());
    const mcpServers = { stuck: { url: `http://127.0.0.1:${port}/mcp` }, fine: { url: tools.url } };
    expect(await doctor({}, { config: { ...(await engineOf()), tools: { mcpServers } } })).toMatchObject([
      { subject: 'tool server stuck', remedy: expect.stringContaining('see that it runs') },
    ]);
  });

  it('says whose clock is wrong, and by how much', async () => {
    const port = await listen(
      createServer((request, response) => {
        response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString());
        response.setHeader('content-type', 'application/json');
        response.end(request.url === '/v1/models' ? '{"data":[{"id":"m"}]}' : '{}');
      }),
    );
    const config = { pool: [{ id: 'ahead', url: `http://127.0.0.1:${port}` }] };
    expect(await doctor({}, { config })).toMatchObject([
      {
        subject: 'clock',
        says: expect.stringMatching(/engine ahead is 3(599|600) s ahead/),
        remedy: expect.stringContaining('NTP'),
      },
    ]);
  });

  it('says that Node.js is too old, before anything that an old one cannot read', async () => {
    const older = `Object.defineProperty(process.versions, 'node', { value: '18.20.4' });`;
    const { code, stderr } = await runFermata(['doctor'], {
      cwd: folder,
      nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(older)}`],
    });
    expect(code).toBe(1);
    expect(stderr).toBe('fermata: Node.js 18.20.4 is too old; install 20.19 or later (https://nodejs.org)\n');
  });

  it('says that the token is not one the server knows, without telling it', async () => {
    const logger = pino({ level: 'silent' });
    const token = 'the-right-token-of-this-installation';
    const access = await createAccess({ token, tokensFile: null }, { logger });
    closing.push({ close: async () => await Promise.resolve(access.close()) });
    const server = keep(
      await createMcpServer(
        {
          host: '127.0.0.1',
          port: 0,
          temporal: { address: `127.0.0.1:${await closedPort()}`, namespace: 'default' },
          taskQueue: 'none',
          proxyUrl: 'http://127.0.0.1:9',
        },
        { logger, access },
      ),
    );
    const { url } = server;
    const wrong = await doctor({ FERMATA_TOKEN: 'a-wrong-token-0123456789' }, { url });
    expect(wrong).toMatchObject([
      {
        subject: 'token',
        says: 'it does not know the token in FERMATA_TOKEN',
        remedy: expect.stringContaining('docs/auth.md'),
      },
    ]);
    expect(JSON.stringify(wrong)).not.toContain('a-wrong-token');
    expect(await doctor({}, { url })).toMatchObject([
      { says: 'it wants a token, and FERMATA_TOKEN is not set' },
    ]);
    expect(await doctor({ FERMATA_TOKEN: token }, { url })).toEqual([]);
  });

  it('says that the disk is full, and where', async () => {
    expect(
      await checkDisk(join(folder, 'not', 'made', 'yet'), async () => ({ freeBytes: 5_000_000 })),
    ).toEqual({
      subject: 'disk',
      level: 'fault',
      says: `4 MiB are free at ${folder}: the disk is full`,
      remedy: expect.stringContaining('set FERMATA_STATE_DIR'),
    });
  });

  it('names each fault of the configuration file by its path', async () => {
    const config = { pool: [{ id: 'a', url: 'localhost:1' }], policy: { admission: 'magic' } };
    expect((await doctor({}, { config })).map(({ subject, says }) => `${subject}: ${says}`)).toEqual([
      expect.stringContaining('pool[0].url: must be an http:// or https:// address'),
      expect.stringContaining('policy.admission'),
    ]);
  });

  it('names a setting that cannot be', async () => {
    expect(await doctor({ FERMATA_PROXY_PORT: 'eighty' })).toMatchObject([
      { subject: 'settings', says: expect.stringContaining("FERMATA_PROXY_PORT: got 'eighty'") },
    ]);
  });
});
