import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { createAccess } from '../../../auth/access.ts';
import { createMcpServer, type McpServerHandle } from '../../../mcp-server/create-mcp-server.ts';
import type { PageSource } from '../../../mcp-server/page/add-page.ts';
import { PageFault } from '../../../mcp-server/page/kept-page.ts';
import type { PageFile } from '../../../mcp-server/page/page-files.ts';
import { ownPage } from '../../../mcp-server/page/own-page.ts';
import { gzipSync } from 'node:zlib';

const logger = pino({ level: 'silent' });
let server: McpServerHandle | null = null;
afterEach(async () => {
  await server?.close();
});

function file(text: string, type: string): PageFile {
  const plain = Buffer.from(text);
  const etag = `"${createHash('sha256').update(text).digest('hex')}"`;
  return { type, etag, plain, gzipped: gzipSync(plain) };
}

const smallPage: PageSource = async () =>
  await Promise.resolve({
    index: file('<p>page</p>', 'text/html; charset=utf-8'),
    assets: new Map([['main-1.js', file('1;', 'text/javascript; charset=utf-8')]]),
  });

/** Nothing else is there: no Temporal, no proxy. */
async function serve(page: PageSource, token: string | null = null): Promise<string> {
  const nowhere = 'http://127.0.0.1:1';
  const access = await createAccess({ token, tokensFile: null }, { logger });
  server = await createMcpServer(
    {
      host: '127.0.0.1',
      port: 0,
      temporal: { address: '127.0.0.1:1', namespace: 'default' },
      taskQueue: 'none',
      proxyUrl: nowhere,
      schedulerUrl: nowhere,
    },
    { logger, access, page },
  );
  return server.url;
}

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

async function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return await new Promise((resolve, reject) => {
    request(url, { headers, method }, (response) => {
      buffer(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        reject,
      );
    })
      .on('error', reject)
      .end();
  });
}

describe('the page of a server', () => {
  it('is there without a token, while everything that tells of runs asks for one', async () => {
    const url = await serve(smallPage, 'a-token-of-the-services');
    expect((await get(url)).body.toString()).toBe('<p>page</p>');
    expect((await get(`${url}/assets/main-1.js`)).body.toString()).toBe('1;');
    for (const path of ['/api/me', '/api/runs', '/api/nothing', '/mcp']) {
      expect((await get(url + path)).status).toBe(401);
    }
  });

  it('may load nothing from elsewhere, run nothing inline, and stand in no frame', async () => {
    const url = await serve(smallPage);
    for (const path of ['/', '/assets/main-1.js']) {
      const { headers } = await get(url + path);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
    }
  });

  it('is asked for again each time, its files only when they have other names', async () => {
    const url = await serve(smallPage);
    const index = await get(url);
    expect(index.headers['cache-control']).toBe('no-cache');
    const same = await get(url, { 'if-none-match': String(index.headers['etag']) });
    expect([same.status, same.body.length]).toEqual([304, 0]);
    expect((await get(`${url}/assets/main-1.js`)).headers['cache-control']).toContain('immutable');
    expect((await get(url, {}, 'HEAD')).status).toBe(200);
  });

  it('is sent small to whoever takes it so', async () => {
    const url = await serve(smallPage);
    const { headers, body } = await get(url, { 'accept-encoding': 'gzip, br' });
    expect([headers['content-encoding'], headers['vary']]).toEqual(['gzip', 'accept-encoding']);
    expect(gunzipSync(body).toString()).toBe('<p>page</p>');
  });

  it.each(['/assets/none.js', '/assets/..%2Fpackage.json', '/assets/%2e%2e/package.json', '/assets/'])(
    'has no file at %s',
    async (path) => {
      const url = await serve(smallPage);
      expect((await get(url + path)).status).toBe(404);
    },
  );

  it('that cannot be built says so, and the server serves all the rest', async () => {
    const url = await serve(async () => await Promise.reject(new PageFault('no page: because')));
    const { status, body, headers } = await get(url);
    expect([status, String(headers['content-type'])]).toEqual([503, expect.stringContaining('text/plain')]);
    expect(body.toString()).toContain('no page: because');
    expect((await get(`${url}/healthz`)).status).toBe(200);
  });

  it('says of a fault that it does not foresee only that there is one', async () => {
    const url = await serve(async () => await Promise.reject(new Error('ENOENT: /somewhere/secret')));
    expect((await get(url)).body.toString()).not.toContain('secret');
  });

  it('of this checkout is whole: every file it names is served, and it names no other place', async () => {
    const url = await serve(ownPage);
    const html = (await get(url)).body.toString();
    const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(named.length).toBeGreaterThanOrEqual(3);
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    for (const path of named) {
      expect(path).toMatch(/^\.\/assets\//);
      const { status, body } = await get(new URL(path, `${url}/`).href);
      expect(status).toBe(200);
      expect(body.toString()).not.toMatch(/(?:src|href|url)\s*[=(]\s*["']?https?:/);
    }
  });
});
