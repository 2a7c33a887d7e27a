import { describe, expect, it } from 'vitest';
import { engineStarter, postTo } from '../engine-client.ts';

const start = engineStarter();

describe('what an engine serves', () => {
  it.each(['vllm', 'sglang'] as const)('is told at /openapi.json (%s)', async (dialect) => {
    const { engine } = await start({ dialect });
    const page = (await (await fetch(`${engine.url}/openapi.json`)).json()) as { paths: object };
    expect(page.paths).toMatchObject({
      '/v1/models': { get: {} },
      '/v1/chat/completions': { post: {} },
      '/v1/completions': { post: {} },
      '/v1/responses': { post: {} },
      '/v1/messages': { post: {} },
      '/v1/messages/count_tokens': { post: {} },
    });
    expect(page.paths).not.toHaveProperty(['/v1/embeddings']);
    expect(page.paths).not.toHaveProperty(['/classify']);
  });

  it('shows by 405 where the page is switched off', async () => {
    const { engine } = await start({ openApi: false, apis: ['chat', 'embeddings'] });
    const status = async (path: string): Promise<number> => (await fetch(`${engine.url}${path}`)).status;
    expect(await status('/openapi.json')).toBe(404);
    expect(await status('/v1/chat/completions')).toBe(405);
    expect(await status('/v1/embeddings')).toBe(405);
    expect(await status('/v1/messages')).toBe(404);
    expect(await status('/v1/nothing')).toBe(404);
  });

  it('shows at llama.cpp by what a POST without JSON is answered', async () => {
    const { engine } = await start({ dialect: 'llamacpp', apis: ['chat'] });
    expect((await fetch(`${engine.url}/openapi.json`)).status).toBe(404);
    expect((await fetch(`${engine.url}/v1/chat/completions`)).status).toBe(404);
    const status = async (path: string): Promise<number> => (await postTo(engine, path, 'no JSON')).status;
    expect(await status('/v1/chat/completions')).toBe(400);
    expect(await status('/v1/embeddings')).toBe(501);
    expect(await status('/v1/rerank')).toBe(501);
    expect(await status('/v1/nothing')).toBe(404);
  });

  it('is what its kind is there for unless it was told otherwise', async () => {
    const { engine } = await start({ kind: 'one-shot', classifyMs: 0 });
    expect((await postTo(engine, '/v1/chat/completions', {})).status).toBe(404);
    expect((await postTo(engine, '/v1/embeddings', { input: 'x' })).status).toBe(200);
    expect((await postTo(engine, '/classify', { input: 'x' })).status).toBe(200);
    const { engine: both } = await start({ apis: ['messages', 'embeddings'] });
    expect((await postTo(both, '/v1/embeddings', { input: 'x' })).status).toBe(200);
    const other = await postTo(both, '/v1/responses', { input: 'x' });
    expect(other.status).toBe(404);
    expect(await other.json()).toMatchObject({ error: { code: 404 } });
  });

  it.each([
    [{}, true],
    [{ kind: 'one-shot' as const }, false],
    [{ apis: ['embeddings' as const] }, false],
  ])('SGLang tells whether it writes or only reads (%j: %s)', async (options, generates) => {
    const { engine } = await start({ dialect: 'sglang', ...options });
    const info: unknown = await (await fetch(`${engine.url}/get_model_info`)).json();
    expect(info).toMatchObject({ model_path: 'sim-small', is_generation: generates });
    expect((await fetch(`${engine.url}/get_server_info`)).status).toBe(200);
  });
});
