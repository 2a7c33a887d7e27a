/** Runs whose tool answers with pictures, through the whole stack, with models that take images and with others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startTestStack, type TestStack } from './start-test-stack.ts';

/** What the engine was sent: its last request of the run. */
interface Sent {
  readonly roles: string;
  readonly images: readonly string[];
  readonly toolTexts: readonly string[];
  readonly text: string;
}

const partSchema = z.looseObject({
  type: z.string(),
  image_url: z.object({ url: z.string() }).optional(),
});
const bodySchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});
const pngAddress = /^data:image\/png;base64,iVBORw0KGgo/;

function sentOf(body: unknown): Sent {
  const { messages } = bodySchema.parse(body);
  const parts = messages.flatMap(({ content }) => z.array(partSchema).safeParse(content).data ?? []);
  return {
    roles: messages.map(({ role }) => role[0]).join(''),
    images: parts.flatMap(({ image_url: image }) => image?.url ?? []),
    toolTexts: messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content)),
    text: JSON.stringify(messages),
  };
}

const picture = (scene: string, count = 1) => ({ tool: 'picture', arguments: { scene, count } });
const task = (words: string, calls: readonly unknown[]): string =>
  `${words} [[sim ${JSON.stringify({ calls, answer: `${words}: seen.` })}]]`;

async function runToEnd(stack: TestStack, request: Record<string, unknown> & { readonly task: string }) {
  const { handle } = await stack.client.call('spawn', request);
  const { runs } = await stack.client.call('await', { handles: [handle], timeoutSeconds: 60 });
  const run = z.array(z.looseObject({ status: z.string(), result: z.string().optional() })).parse(runs)[0];
  const bodies = stack.engines
    .flatMap((engine) => [...engine.requests()])
    .filter(({ body }) => JSON.stringify(body).includes(JSON.stringify(request.task)))
    .map((record) => ({ ...sentOf(record.body), promptTokens: record.promptTokens ?? 0 }));
  return { run, turns: bodies };
}

async function listsImages(stack: TestStack): Promise<unknown> {
  const response = await fetch(`${stack.proxyUrl}/v1/models`);
  const { data } = z
    .object({ data: z.array(z.object({ fermata: z.object({ images: z.boolean() }) })) })
    .parse(await response.json());
  return data.map(({ fermata }) => fermata.images);
}

describe('with replicas whose model takes images', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack({ replica: { images: true } });
  });
  afterAll(async () => {
    await stack.close();
  });

  it('a picture of a tool reaches the engine after the results, and no base64 is in any text', async () => {
    expect(await listsImages(stack)).toEqual([true]);
    const { run, turns } = await runToEnd(stack, { task: task('The pier', [picture('a pier'), 'lookup']) });
    expect(run).toMatchObject({ status: 'Completed', result: 'The pier: seen.' });
    expect(turns.map(({ roles }) => roles)).toEqual(['u', 'uatu', 'uatuat']);
    expect(turns.map(({ images }) => images.length)).toEqual([0, 1, 1]);
    expect(turns[1]?.images[0]).toMatch(pngAddress);
    expect(turns[1]?.toolTexts[0]).toMatch(/^Pictures of a pier:\n\[image 1: image\/png, \d+ bytes\]$/);
    expect((turns[1]?.promptTokens ?? 0) - (turns[0]?.promptTokens ?? 0)).toBeGreaterThan(256);
    expect(JSON.stringify(run)).not.toContain('iVBORw0KGgo');
  });

  it('pictures of parallel calls keep the order of the calls', async () => {
    const { run, turns } = await runToEnd(stack, {
      task: task('Three views', [[picture('north', 2), 'lookup', picture('south')]]),
      parallelToolCalls: true,
    });
    expect(run).toMatchObject({ status: 'Completed' });
    expect(turns.map(({ roles }) => roles)).toEqual(['u', 'uatttu']);
    expect(new Set(turns[1]?.images).size).toBe(3);
    expect(turns[1]?.text.match(/Result \d \([a-z_]+\), image \d/g)).toEqual([
      'Result 1 (web__picture), image 1',
      'Result 1 (web__picture), image 2',
      'Result 3 (web__picture), image 1',
    ]);
  });

  it('pictures that are too large for a run are left out one by one, and the run completes', async () => {
    const large = { tool: 'picture', arguments: { scene: 'a wall', count: 6, width: 450 } };
    const calls = [large, large, large, { tool: 'picture', arguments: { scene: 'a poster', width: 900 } }];
    const before = stack.engines.map((engine) => engine.requests().length);
    const { run } = await runToEnd(stack, { task: task('Walls', calls), maxToolCalls: 8 });
    expect(run).toMatchObject({ status: 'Completed', toolCalls: 4, failedToolCalls: 0 });
    const bytes = stack.engines.flatMap((engine, index) =>
      engine
        .requests()
        .slice(before[index])
        .map(({ bodyBytes }) => bodyBytes),
    );
    // Two pictures of a result go along; those of three results are more than a transcript may hold.
    expect(bytes).toHaveLength(5);
    expect(bytes[1]).toBeGreaterThan(500_000);
    expect(bytes[2]).toBeGreaterThan(1_000_000);
    expect(Math.max(...bytes)).toBeLessThan(1_600_000);
  });
});

describe('with a model that reads text only', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await startTestStack({ engines: [{ timeScale: 0.1, images: false }] });
  });
  afterAll(async () => {
    await stack.close();
  });

  it('a line stands for the picture, and no image is ever sent to the engine', async () => {
    expect(await listsImages(stack)).toEqual([false]);
    const { run, turns } = await runToEnd(stack, { task: task('The pier', [picture('a pier', 2)]) });
    expect(run).toMatchObject({ status: 'Completed', result: 'The pier: seen.', failedToolCalls: 0 });
    expect(turns.map(({ roles }) => roles)).toEqual(['u', 'uat']);
    expect(turns[1]?.toolTexts[0]).toMatch(
      /^Pictures of a pier:(\n\[image\/png, \d+ bytes, left out: this model takes no images\]){2}$/,
    );
    expect(turns.some(({ text }) => text.includes('iVBORw0KGgo') || text.includes('image_url'))).toBe(false);
    expect(stack.engines[0]?.requests().every(({ status }) => status === 200)).toBe(true);
  });
});
