/** The recorded streams of the public cases, as a run's model turn takes them: over sockets, cut anywhere. */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createModelClient,
  type ModelClient,
  type TurnReply,
} from '../../../activities/model-turn/model-client.ts';
import { ModelTurnError } from '../../../activities/model-turn/model-turn-error.ts';
import { readReply } from '../../../activities/model-turn/read-reply.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';
import { caseFile, expectOf } from '../../case-file.ts';
import { streamCases, type StreamCase } from '../../proxy/stream-cases.ts';
import { startFakeModel, type FakeModel } from '../fake-model.ts';

const assembledSchema = z.object({
  content: z.string(),
  finish_reason: z.string(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })),
  usage: z
    .object({ prompt_tokens: z.number(), completion_tokens: z.number(), total_tokens: z.number() })
    .optional(),
});
const expectedSchema = z.looseObject({
  outcome: z.enum(['ok', 'truncated']).optional(),
  outcome_any_of: z.array(z.enum(['ok', 'truncated'])).optional(),
  assembled: assembledSchema.optional(),
  partial_content: z.string().optional(),
  must_not_contain: z.string().optional(),
});

function expectedOf(stream: StreamCase): z.infer<typeof expectedSchema> {
  const { expect: wanted } = stream.case;
  return expectedSchema.parse('variants' in wanted ? expectOf(stream.case, stream.variant) : wanted);
}

const tools = ['add', 'scan_tree', 'sum', 'tides', 'fetch', 'write_file', 'lookup'].map(
  (name): ListedTool => ({
    name,
    server: 's',
    serverTool: name,
    description: '',
    inputSchema: { type: 'object' },
    annotations: {},
  }),
);
const validate = createValidator();

let model: FakeModel | undefined;
let client: ModelClient | undefined;
afterEach(async () => {
  await client?.close();
  await model?.close();
});

async function take(
  pieces: readonly Uint8Array[],
  ending: 'end' | 'reset',
): Promise<TurnReply | 'truncated'> {
  model = await startFakeModel(async (request) => {
    for (const piece of pieces) {
      request.write(piece);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    if (ending === 'reset') request.reset();
    else request.end();
  });
  client = createModelClient(model.url);
  const request = {
    runId: 'run',
    turn: 1,
    class: 'interactive',
    caller: 'tests',
    model: 'm-test',
    maxTokens: 0,
    messages: [{ role: 'user' as const, content: 'go' }],
    tools,
  };
  try {
    return await client.stream(request, new AbortController().signal);
  } catch (error) {
    if (error instanceof ModelTurnError && error.failure.kind === 'broken-stream') return 'truncated';
    throw error;
  }
}

function recut(writes: readonly Buffer[], bytes: number): Buffer[] {
  const whole = Buffer.concat(writes);
  return Array.from({ length: Math.ceil(whole.length / bytes) }, (_, index) =>
    whole.subarray(index * bytes, (index + 1) * bytes),
  );
}

/** What a run has of a reply, in the words of a case; an id that is not `named` and every engine takes is fresh. */
function assembledBy({ reply }: TurnReply, named: readonly string[]): z.infer<typeof assembledSchema> {
  const { message, calls } = readReply(reply, { turn: 1, tools, transcript: [], validate });
  expect(calls.filter((call) => call.refusal !== undefined)).toEqual([]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  return {
    content: message.content ?? '',
    finish_reason: reply.finishReason ?? '',
    tool_calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
      id: !named.includes(id) && /^[a-z0-9]{9}$/.test(id) ? '<fresh>' : id,
      name,
      arguments: JSON.parse(text) as unknown,
    })),
    usage: {
      prompt_tokens: reply.promptTokens,
      completion_tokens: reply.completionTokens,
      total_tokens: reply.promptTokens + reply.completionTokens,
    },
  };
}

const cuts: Readonly<Record<string, (writes: readonly Buffer[]) => readonly Buffer[]>> = {
  'as it was recorded': (writes) => writes,
  'byte by byte': (writes) => recut(writes, 1),
  'in sevens': (writes) => recut(writes, 7),
  'in one piece': (writes) => [Buffer.concat(writes)],
};

for (const one of ['S01', 'S04', 'S05', 'S06', 'S08', 'S10', 'S12'].map((id) => caseFile(id))) {
  describe(`${one.id} ${one.title}`, () => {
    const all = streamCases(one.id).flatMap((stream) =>
      Object.entries(cuts).map(([cut, apply]) => ({
        name: `${stream.variant} ${cut}`,
        pieces: apply(stream.writes),
        ending: stream.ending,
        wanted: expectedOf(stream),
      })),
    );
    const canBe = (outcome: 'ok' | 'truncated') => (each: (typeof all)[number]) =>
      (each.wanted.outcome_any_of ?? [each.wanted.outcome]).includes(outcome);

    it.each(all.filter(canBe('ok')))('a run takes $name whole', async ({ pieces, ending, wanted }) => {
      const reply = await take(pieces, ending);
      if (reply === 'truncated') throw new Error('a whole reply was taken for a broken one');
      const assembled = assembledBy(
        reply,
        (wanted.assembled?.tool_calls ?? []).map(({ id }) => id),
      );
      expect(assembled).toMatchObject(wanted.assembled ?? { content: wanted.partial_content });
      expect(assembled.content).not.toContain(wanted.must_not_contain ?? '\ufffd');
    });

    const broken = all.filter((each) => !canBe('ok')(each));
    if (broken.length === 0) return;
    it.each(broken)('a run takes $name for broken off', async ({ pieces, ending }) => {
      expect(await take(pieces, ending)).toBe('truncated');
    });
  });
}
