/** Budgets as clients see them: of one run, and of a run with others below it. */
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { z } from 'zod';
import { connectClient, type TestClient } from './mcp-clients.ts';
import { startStack, type Stack } from './stack.ts';

let stack: Stack;
let client: TestClient;
beforeAll(async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    workflowBundlePath: inject('workflowBundlePath'),
  });
  client = await connectClient('modern', stack.mcpUrl);
});
afterAll(async () => {
  await client?.close();
  await stack?.close();
});

/** Looks things up, one after the other, far more often than any budget here allows. */
const lookingOn = (name: string): string =>
  `${name} [[sim ${JSON.stringify({ calls: Array<string>(60).fill('lookup'), preface: 'so far', answer: 'end' })}]]`;

const budgetSchema = z.object({
  limits: z.record(z.string(), z.number()),
  used: z.object({ tokens: z.number(), toolCalls: z.number(), seconds: z.number() }),
  exceeded: z.string().nullable(),
});
const runSchema = z.object({
  handle: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  partial: z.string().optional(),
  isPartial: z.boolean().optional(),
  toolCalls: z.number(),
  usage: z.object({ turns: z.number(), promptTokens: z.number(), completionTokens: z.number() }),
  budget: budgetSchema.optional(),
});

async function spawn(args: Record<string, unknown>): Promise<string> {
  const reply = await client.call('spawn', { tools: ['desk__lookup'], maxToolCalls: 1_000, ...args });
  expect(reply.text).toContain('started');
  return String(reply.structured['handle']);
}

async function ended(...handles: readonly string[]) {
  const { structured, text } = await client.call('await', { handles, timeoutSeconds: 100 });
  expect(structured).toMatchObject({ done: true });
  return { runs: z.array(runSchema).parse(structured['runs']), text };
}

const tokensOf = ({ usage }: z.infer<typeof runSchema>): number =>
  usage.promptTokens + usage.completionTokens;

describe('the budget of one run', () => {
  it('ends it with its name, use and limit, and what it has so far is shown as partial', async () => {
    const handle = await spawn({ task: lookingOn('one'), budgetToolCalls: 3, budgetSeconds: 600 });
    const { runs, text } = await ended(handle);
    const [run] = runs;
    expect(run).toMatchObject({
      status: 'Cancelled',
      reason: 'budget exceeded: toolCalls 3/3 (the next round needs 1; 0 left)',
      partial: 'so far',
      isPartial: true,
      toolCalls: 3,
      budget: { limits: { toolCalls: 3, seconds: 600 }, used: { toolCalls: 3 }, exceeded: 'toolCalls' },
    });
    expect(run?.budget?.used.tokens).toBe(run === undefined ? null : tokensOf(run));
    expect(text).toMatch(/budget: 3 of 3 tool calls, \d+ of 600 seconds used; exceeded: tool calls/);
    expect(text).toContain('partial text (the run did not complete)');
    const status = await client.call('status', { handle });
    expect(status.structured).toMatchObject({ budget: run?.budget });
    expect(status.text).toContain('exceeded: tool calls');
  });

  it('is shown while the run is at work, and its seconds go on while nothing happens', async () => {
    const held = stack.holding('late');
    const handle = await spawn({ task: held.task, budgetTokens: 100_000, budgetSeconds: 600 });
    await held.held;
    await vi.waitFor(
      async () => {
        const { structured } = await client.call('status', { handle });
        const { used, exceeded } = budgetSchema.parse(structured['budget']);
        expect(used.tokens).toBeGreaterThan(0);
        expect(used.seconds).toBeGreaterThanOrEqual(2);
        expect(exceeded).toBeNull();
      },
      { timeout: 60_000, interval: 200 },
    );
    held.release();
    const { runs } = await ended(handle);
    expect(runs[0]).toMatchObject({ status: 'Completed', budget: { exceeded: null } });
    expect(runs[0]).not.toHaveProperty('isPartial');
  });
});

describe('the budget of a run with others below it', () => {
  it('ends them all, though it has ended itself; use and end are shown with it, and add up', async () => {
    const root = await spawn({ task: stack.saying('begun'), budgetTokens: 12_000 });
    expect((await ended(root)).runs[0]).toMatchObject({ status: 'Completed' });
    const children = await Promise.all(
      Array.from(
        { length: 8 },
        async (_, index) => await spawn({ task: lookingOn(`${index}`), parent: root }),
      ),
    );
    const { runs } = await ended(root, ...children);
    const [first, ...below] = runs;
    expect(first).toMatchObject({ status: 'Completed', budget: { limits: { tokens: 12_000 } } });
    for (const child of below) {
      expect(child).toMatchObject({ status: 'Cancelled', partial: 'so far', isPartial: true });
      expect(child.reason).toMatch(/budget exceeded: tokens \d+\/12000/);
    }
    const total = runs.reduce((sum, run) => sum + tokensOf(run), 0);
    await vi.waitFor(
      async () => {
        const status = await client.call('status', { handle: root });
        const { used, exceeded } = budgetSchema.parse(status.structured['budget']);
        expect({ tokens: used.tokens, exceeded }).toEqual({ tokens: total, exceeded: 'tokens' });
        expect(status.text).toContain(
          `budget: ${total} of 12000 tokens used by it and all below it; exceeded: tokens`,
        );
      },
      { timeout: 60_000, interval: 500 },
    );
    expect(total).toBeGreaterThan(8_000);
    const largestReply = Math.max(...below.map((run) => tokensOf(run) / run.usage.turns)) * 3;
    expect(total).toBeLessThanOrEqual(12_000 + 8 * largestReply);
    const late = await client.call('spawn', { task: stack.saying('late'), parent: root });
    expect(late).toMatchObject({ isError: true, text: expect.stringContaining('budget exceeded: tokens') });
  });
});
