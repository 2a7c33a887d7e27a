/** What `GET /api/config` tells, and to whom. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configFileSchema, policySchema } from '../../../contracts/config-file.ts';
import { configViewSchema, type ConfigStatus, type ConfigView } from '../../../contracts/config-status.ts';
import { createMcpServer, type McpServerHandle } from '../../../mcp-server/create-mcp-server.ts';
import { bearer, namedToken, testAccess, tokenOf } from '../../auth/test-access.ts';

const logger = pino({ level: 'silent' });
const told: ConfigStatus = {
  source: 'fermata.yaml',
  loadedAt: '2026-11-30T08:00:00.000Z',
  fault: {
    since: '2026-11-30T09:00:00.000Z',
    lines: ['line 1, column 1: pool: must name at least one replica'],
  },
};
const configuration = {
  current: () =>
    configFileSchema.parse({
      pool: [{ id: 'a', url: 'http://user:SECRET@127.0.0.1:1' }],
      tools: { mcpServers: { files: { command: 'x', env: { KEY: 'SECRET' } } } },
    }),
  status: () => told,
};
let scheduler: Server;
let server: McpServerHandle;
let alone: McpServerHandle;
beforeAll(async () => {
  const status = {
    replicas: [],
    held: [],
    runsByPhase: {},
    runs: [],
    proxies: 0,
    policy: policySchema.parse({}),
  };
  scheduler = createServer((_, response) => response.end(JSON.stringify({ ...status, config: told })));
  await new Promise<void>((resolve) => scheduler.listen(0, '127.0.0.1', resolve));
  const config = {
    host: '127.0.0.1',
    port: 0,
    temporal: { address: '127.0.0.1:9', namespace: 'default' },
    taskQueue: 'none',
    proxyUrl: 'http://127.0.0.1:9',
  };
  const access = testAccess([namedToken('ann'), namedToken('ops', { admin: true })]);
  const schedulerUrl = `http://127.0.0.1:${(scheduler.address() as AddressInfo).port}`;
  server = await createMcpServer({ ...config, schedulerUrl }, { logger, access, configuration });
  alone = await createMcpServer({ ...config, schedulerUrl: 'http://127.0.0.1:9' }, { logger });
});
afterAll(async () => {
  await Promise.all([server.close(), alone.close()]);
  scheduler.close();
});

const viewOf = async (url: string, headers: Record<string, string> = {}): Promise<ConfigView> =>
  configViewSchema.parse(await (await fetch(`${url}/api/config`, { headers })).json());

describe('GET /api/config', () => {
  it('tells an admin what is in force, without keys', async () => {
    const view = await viewOf(server.url, bearer(tokenOf('ops')));
    expect(view.config).toMatchObject({
      pool: [{ id: 'a', url: 'http://127.0.0.1:1' }],
      toolServers: { files: { command: 'x', env: ['KEY'] } },
    });
    expect(JSON.stringify(view)).not.toContain('SECRET');
  });

  it('tells everyone of faults, and nobody else what is in force', async () => {
    const view = await viewOf(server.url, bearer(tokenOf('ann')));
    expect(view).toEqual({
      services: [
        { service: 'scheduler', config: told },
        { service: 'mcp-server', config: told },
      ],
      config: null,
    });
  });

  it('answers without a scheduler and without a file', async () => {
    expect(await viewOf(alone.url)).toEqual({
      services: [
        { service: 'scheduler', config: null },
        { service: 'mcp-server', config: null },
      ],
      config: null,
    });
  });
});
