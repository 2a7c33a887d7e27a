/** The image's entry point and the check of its health, from the sources; the image itself: `npm run test:image`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createInterface } from 'node:readline';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { askHealth } from '../../cli/ask-health.ts';
import { listen } from '../../testkit/listen.ts';

const root = resolve(import.meta.dirname, '..', '..');
let server: Server | null = null;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise<void>((done) => (server === null ? done() : server.close(() => done())));
  server = null;
});

/** A service that is alive and not ready. */
async function standIn(): Promise<number> {
  server = createServer((request, response) => {
    response.statusCode = request.url === '/healthz' ? 200 : 503;
    response.end(request.url === '/healthz' ? '{"ok":true}' : '{"ready":false,"reason":"no scheduler"}');
  });
  return await listen(server, '127.0.0.1', 0);
}

describe('the check of a service', () => {
  it.each([
    ['proxy', 'FERMATA_PROXY_PORT'],
    ['scheduler', 'FERMATA_SCHEDULER_PORT'],
    ['worker', 'FERMATA_WORKER_PORT'],
    ['mcp-server', 'FERMATA_MCP_PORT'],
  ])('asks a %s at its port whether it lives, and whether it takes work', async (service, setting) => {
    const environment = { [setting]: String(await standIn()) };
    expect(await askHealth([service], environment)).toEqual({
      code: 0,
      says: `${service} /healthz: 200 {"ok":true}`,
    });
    const { code, says } = await askHealth([service, '--ready'], environment);
    expect([code, says]).toEqual([1, expect.stringContaining('no scheduler')]);
  });

  it('asks on loopback where the service is bound to all addresses', async () => {
    const environment = {
      FERMATA_PROXY_PORT: String(await standIn()),
      FERMATA_HOST: '0.0.0.0',
      FERMATA_TOKEN: 'a-token-of-some-length',
    };
    expect((await askHealth(['proxy'], environment)).code).toBe(0);
  });

  it('fails where nothing answers, and for what is no service', async () => {
    const port = await standIn();
    server?.close();
    const gone = await askHealth(['proxy'], { FERMATA_PROXY_PORT: String(port) });
    expect([gone.code, gone.says]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
    expect((await askHealth(['proxi'], {})).code).toBe(1);
  });
});

describe('the entry point of the image', () => {
  it('becomes the service that is named, and ends in order when it is asked to', async () => {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', join(root, 'cli', 'service-main.ts'), 'simulated-pool', '{"toolServer": null}'],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env['PATH'] ?? '' } },
    );
    const exited = once(child, 'exit');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    expect(JSON.parse(line)).toMatchObject({ ready: true, toolServer: null });
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
