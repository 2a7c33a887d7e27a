/** What `/api` answers on the wire, without Temporal: its door, its shapes, its bounds. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorCodes } from '../../../contracts/error-codes.ts';
import { createMcpServer, type McpServerHandle } from '../../../mcp-server/create-mcp-server.ts';
import { bearer, namedToken, serviceToken, testAccess, tokenOf } from '../../auth/test-access.ts';
import { handleOf } from '../made-run.ts';
import { ApiClient, readDocument, sendRaw } from './api-client.ts';

const config = {
  host: '127.0.0.1',
  port: 0,
  temporal: { address: '127.0.0.1:9', namespace: 'default' },
  temporalCallMs: 100,
  taskQueue: 'none',
  proxyUrl: 'http://127.0.0.1:9',
  schedulerUrl: 'http://127.0.0.1:9',
};
const logger = pino({ level: 'silent' });
let open: McpServerHandle;
let shut: McpServerHandle;
let api: ApiClient;
let document: { paths: Record<string, Record<string, Operation>>; components: { schemas: object } };
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: { name: string; in: string; schema: object }[];
  readonly requestBody?: { content: Record<string, { schema: object }> };
  readonly responses: Record<string, { content: Record<string, { schema: object }> }>;
}
beforeAll(async () => {
  open = await createMcpServer(config, { logger });
  shut = await createMcpServer(config, {
    logger,
    access: testAccess([namedToken('ann'), namedToken('ops', { admin: true })]),
  });
  const told = await readDocument(open.url);
  document = told as typeof document;
  api = new ApiClient(open.url, told);
});
afterAll(async () => {
  await Promise.all([open.close(), shut.close()]);
});

const handle = handleOf('x');
const json = { 'content-type': 'application/json' };

/** Every route as a request that could be answered. */
function requests(): { method: string; path: string; body: string | undefined }[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({
      method: method.toUpperCase(),
      path: path.replace('{handle}', handle).replace('{id}', 'apr_1'),
      body: method === 'post' ? '{}' : undefined,
    })),
  );
}

describe('the door of the run API', () => {
  it('asks for a token at every route', async () => {
    expect(requests().length).toBeGreaterThanOrEqual(13);
    for (const { method, path, body } of requests()) {
      // Of the server without tokens, to see that these requests are answered there.
      const sent = body === undefined ? {} : json;
      expect([path, (await api.send(method, path, body, sent)).status]).not.toEqual([path, 401]);
      for (const headers of [{}, bearer('a-wrong-token')]) {
        const refused = await new ApiClient(shut.url, document, headers).send(method, path, body, sent);
        expect([path, refused.status, refused.headers.get('www-authenticate')]).toEqual([
          path,
          401,
          'Bearer',
        ]);
        expect(refused.body).toMatchObject({ error: { code: 'unauthorized' } });
      }
    }
  });

  it('says who you are', async () => {
    const me = async (headers: Record<string, string>): Promise<unknown> =>
      (await new ApiClient(shut.url, document, headers).get('/api/me')).body;
    expect(await me(bearer(tokenOf('ann')))).toMatchObject({ caller: 'ann', seesAll: false });
    expect(await me({ ...bearer(tokenOf('ann')), 'x-fermata-caller': 'bob' })).toMatchObject({
      caller: 'ann',
    });
    expect(await me(bearer(tokenOf('ops')))).toMatchObject({ caller: 'ops', seesAll: true });
    expect(await me(bearer(serviceToken))).toMatchObject({ caller: 'api', seesAll: true });
    expect(await me({ ...bearer(serviceToken), 'x-fermata-caller': ' cli ' })).toMatchObject({
      caller: 'cli',
    });
    expect((await api.get('/api/me')).body).toMatchObject({
      caller: 'api',
      seesAll: true,
      classCeiling: null,
    });
    expect((await api.as({ 'x-fermata-caller': 'caf\u00e9' }).get('/api/me')).body).toMatchObject({
      error: { code: 'invalid_header' },
    });
  });

  it('lets only an admin ask for the runs of another', async () => {
    const ann = new ApiClient(shut.url, document, bearer(tokenOf('ann')));
    expect(await ann.get('/api/runs?caller=bob')).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', message: expect.stringContaining("'ann' only") } },
    });
    expect((await ann.get('/api/runs?caller=ann')).status).toBe(503);
    const ops = new ApiClient(shut.url, document, bearer(tokenOf('ops')));
    expect((await ops.get('/api/runs?caller=bob')).status).toBe(503);
  });
});

describe('a change asked for by a web page', () => {
  const change = `/api/runs/${handle}/cancel`;

  it.each([
    ['as a form would', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
    ['as plain text', 415, { 'content-type': 'text/plain' }],
    ['without saying what the body is', 415, {}],
    ['from another site', 403, { ...json, origin: 'https://evil.example' }],
    ['from nowhere', 403, { ...json, origin: 'null' }],
    ['from another site, as browsers say it', 403, { ...json, 'sec-fetch-site': 'cross-site' }],
    ['to a name that is not this server', 403, { ...json, host: 'evil.example' }],
    ['from the page of this server', 503, { ...json, 'sec-fetch-site': 'same-origin' }],
    ['from a page of another port of this machine', 503, { ...json, origin: 'http://localhost:5173' }],
    ['from no page', 503, json],
  ])('%s gets %i', async (_, status, headers) => {
    const { status: got, text } = await sendRaw(`${open.url}${change}`, 'POST', headers, '{}');
    expect(got).toBe(status);
    const { error } = JSON.parse(text) as { error: { code: keyof typeof errorCodes; type: string } };
    expect(errorCodes[error.code]).toMatchObject({ status, type: error.type });
  });

  it('is refused for another site also where the bind is not a loopback one, unless a token proves who asks', async () => {
    const wide = { ...config, host: '0.0.0.0' };
    const [without, guarded] = await Promise.all([
      createMcpServer(wide, { logger }),
      createMcpServer(wide, { logger, access: testAccess() }),
    ]);
    const send = async (server: McpServerHandle, headers: Record<string, string>): Promise<number> =>
      (await sendRaw(`http://127.0.0.1:${server.port}${change}`, 'POST', { ...json, ...headers }, '{}'))
        .status;
    const own = `http://127.0.0.1:${without.port}`;
    expect(await send(without, { origin: 'https://evil.example' })).toBe(403);
    expect(await send(without, { origin: own })).toBe(503);
    expect(await send(without, { origin: 'http://me.example:1', host: 'me.example:1' })).toBe(503);
    expect(await send(guarded, { origin: 'https://evil.example' })).toBe(401);
    expect(await send(guarded, { origin: 'https://any.example', ...bearer(serviceToken) })).toBe(503);
    await Promise.all([without.close(), guarded.close()]);
  });

  it('is never allowed beforehand: a browser that asks gets no permission', async () => {
    for (const { path } of requests()) {
      const reply = await fetch(`${open.url}${path}`, {
        method: 'OPTIONS',
        headers: { origin: 'http://localhost:1', 'access-control-request-method': 'POST' },
      });
      expect([path, reply.status]).toEqual([path, 204]);
      expect([...reply.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(reply.headers.get('allow')).toContain('OPTIONS');
    }
  });
});

describe('what is refused', () => {
  it.each([
    ['GET', '/api/runs?nope=1&limit=5', 'query: Unrecognized key: "nope"'],
    ['GET', '/api/runs?limit=0', 'query: limit: '],
    ['GET', '/api/runs?limit=201', 'query: limit: '],
    ['GET', '/api/runs?limit=five', 'query: limit: '],
    ['GET', '/api/runs?status=Gone', 'query: status'],
    ['GET', '/api/runs?status=Running,gone', 'query: status'],
    ['GET', '/api/runs?root=perhaps', 'query: root: '],
    ['GET', '/api/runs?class=fast', 'query: class: '],
    ['GET', '/api/runs?startedAfter=yesterday', 'query: startedAfter: '],
    ['GET', '/api/runs?cursor=abc', 'cursor: is not one of this list'],
    ['GET', `/api/runs/${handle}?waitSeconds=61`, 'query: waitSeconds: '],
    ['GET', `/api/runs/${handle}/transcript?offset=-1`, 'query: offset: '],
    ['GET', `/api/tree/${handle}?x=1`, 'query: Unrecognized key: "x"'],
    ['GET', '/api/events?x=1', 'query: Unrecognized key: "x"'],
    ['POST', '/api/runs?x=1', 'query: Unrecognized key: "x"'],
    ['POST', '/api/runs', 'body: task: '],
    ['POST', '/api/runs {"task":"t","taks":1}', 'body: Unrecognized key: "taks"'],
    ['POST', '/api/runs {"task":"t","maxTokens":-1}', 'body: maxTokens: '],
    ['POST', '/api/runs []', 'body: '],
    ['POST', '/api/runs {"task":"t","__proto__":{"x":1}}', 'body: '],
    ['POST', `/api/runs/${handle}/cancel {"why":"x"}`, 'body: Unrecognized key: "why"'],
    ['POST', `/api/runs/${handle}/approvals/apr_1 {}`, 'body: allow: '],
    ['POST', '/api/decide {"input":"x","labels":["one"]}', 'body: labels: '],
  ])('%s %s names what is wrong', async (method, asked, words) => {
    const [path = '', body] = asked.split(/ (?=[[{])/);
    const headers = method === 'POST' ? json : {};
    const reply = await api.send(method, path, method === 'POST' ? (body ?? '{}') : undefined, headers);
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    expect(reply.body).toMatchObject({ error: { message: expect.stringContaining(words) } });
  });

  it('is what is not JSON, in our shape', async () => {
    const reply = await api.send('POST', '/api/runs', '{"task":', json);
    expect(reply).toMatchObject({ status: 400, body: { error: { code: 'invalid_json' } } });
  });

  it('is a body over 4 MiB, and one just below is read', async () => {
    const body = (bytes: number): string => JSON.stringify({ task: 't', model: 'm', x: 'x'.repeat(bytes) });
    expect(await api.send('POST', '/api/runs', body(4 * 1_024 * 1_024), json)).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large', message: expect.stringContaining('4194304') } },
    });
    expect((await api.send('POST', '/api/runs', body(4 * 1_024 * 1_024 - 100), json)).status).toBe(400);
  });

  it('is a handle that is none, with the words of an unknown one, at every route that takes one', async () => {
    for (const { method, path, body } of requests()) {
      if (!path.includes(handle)) continue;
      const asked = path.replace(handle, 'run_short');
      const sent = path.includes('approvals') ? '{"allow":true}' : body;
      const reply = await api.send(method, asked, sent, sent === undefined ? {} : json);
      expect([asked, reply.status]).toEqual([asked, 404]);
      expect(reply.body).toMatchObject({
        error: { code: 'unknown_handle', message: expect.stringContaining("'run_short'") },
      });
    }
  });

  it.each(['/api/nothing', '/api/runs/x/y/z', '/api/'])('is %s, in our shape', async (path) => {
    expect(await api.get(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
  });

  it('is a method that a path does not have, with those it has, whatever the body', async () => {
    for (const { path } of requests()) {
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const reply = await api.send(method, path, 'not json', { 'content-type': 'text/plain' });
        expect([path, reply.status]).toEqual([path, 405]);
        expect(reply.body).toMatchObject({ error: { code: 'method_not_allowed' } });
        expect(reply.headers.get('allow')).toMatch(/GET|POST/);
      }
    }
    expect((await api.send('HEAD', '/api/events')).status).toBe(405);
    const head = await api.send('HEAD', '/api/me');
    expect([head.status, head.body]).toEqual([200, null]);
  });
});

describe('without Temporal', () => {
  it('every route about runs says so with 503, in words and soon', async () => {
    for (const { method, path, body } of requests()) {
      if (['/api/me', '/api/config', '/api/openapi.json'].includes(path)) continue;
      const sent = path.includes('approvals')
        ? '{"allow":true}'
        : path === '/api/runs' && method === 'POST'
          ? '{"task":"t"}'
          : path === '/api/decide'
            ? '{"input":"t"}'
            : body;
      const reply = await api.send(method, path, sent, sent === undefined ? {} : json);
      expect([path, reply.status, reply.headers.get('retry-after')]).toEqual([path, 503, '1']);
      const words = path === '/api/pool' ? 'the scheduler at http://127.0.0.1:9' : /Temporal at|the proxy at/;
      expect(reply.body).toMatchObject({
        error: { code: 'unavailable', type: 'overloaded_error', message: expect.stringMatching(words) },
      });
    }
  });
});

describe('the pool', () => {
  it.each([
    ['refuses the token', (): [number, string] => [401, '{}'], 'FERMATA_TOKEN is not the one set there'],
    ['is something else', (): [number, string] => [200, '{"x":1}'], 'another version'],
    ['answers with no JSON', (): [number, string] => [200, '<html>'], 'does not tell'],
    ['answers without end', (): [number, string] => [200, 'x'.repeat(5_000_000)], 'over 4194304 bytes'],
  ])('is not known, in words, when the scheduler %s', async (_, answer, words) => {
    const scheduler = createServer((request, response) => {
      const [status, text] = answer();
      expect(request.headers.authorization).toBe(`Bearer ${serviceToken}`);
      response.writeHead(status).end(text);
    });
    await new Promise<void>((resolve) => scheduler.listen(0, '127.0.0.1', resolve));
    const { port } = scheduler.address() as AddressInfo;
    const server = await createMcpServer(
      { ...config, schedulerUrl: `http://127.0.0.1:${port}/` },
      { logger, access: testAccess() },
    );
    const reply = await new ApiClient(server.url, document, bearer(serviceToken)).get('/api/pool');
    expect(reply).toMatchObject({
      status: 503,
      body: { error: { code: 'unavailable', message: expect.stringContaining(words) } },
    });
    await server.close();
    scheduler.closeAllConnections();
    await new Promise((resolve) => scheduler.close(resolve));
  });

  it('is not known when nobody said where the scheduler is', async () => {
    const server = await createMcpServer({ ...config, schedulerUrl: null }, { logger });
    const { body } = await new ApiClient(server.url, document).get('/api/pool');
    expect(body).toMatchObject({ error: { message: expect.stringContaining('set FERMATA_SCHEDULER_URL') } });
    await server.close();
  });
});

describe('the OpenAPI document', () => {
  it('is one of 3.1 with an id, words and refusals for every operation', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'fermata run API' } });
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { summary, responses } of operations) {
      expect(summary).toMatch(/\w/);
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '500']));
    }
    expect(Object.keys(document.paths).toSorted()).toEqual([
      '/api/config',
      '/api/decide',
      '/api/events',
      '/api/me',
      '/api/openapi.json',
      '/api/pool',
      '/api/runs',
      '/api/runs/{handle}',
      '/api/runs/{handle}/approvals/{id}',
      '/api/runs/{handle}/cancel',
      '/api/runs/{handle}/live',
      '/api/runs/{handle}/timeline',
      '/api/runs/{handle}/transcript',
      '/api/tools',
      '/api/tree/{handle}',
    ]);
  });

  it('names each parameter of a path, and has only schemas that can be used', () => {
    const ajv = new Ajv2020({ strict: false, schemas: [{ $id: 'doc', ...document }] });
    addFormats.default(ajv);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const { parameters = [], requestBody, responses } of Object.values(operations)) {
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(inPath);
        const schemas = [
          ...parameters.map(({ schema }) => schema),
          ...Object.values(requestBody?.content ?? {}).map(({ schema }) => schema),
          ...Object.values(responses).flatMap(({ content }) =>
            Object.values(content).map(({ schema }) => schema),
          ),
        ];
        for (const schema of schemas) {
          expect(() =>
            ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')) as object),
          ).not.toThrow();
        }
      }
    }
  });

  it('tells the arguments of a run as the tool spawn takes them', () => {
    const schema = document.paths['/api/runs']?.['post']?.requestBody?.content['application/json']?.schema;
    expect(schema).toMatchObject({
      type: 'object',
      required: ['task'],
      additionalProperties: false,
      properties: { maxToolCalls: { type: 'integer' }, tools: { type: 'array' }, parent: { type: 'string' } },
    });
  });
});
