/** Turns through the model client to engines that take less than others: strict grammars, strict ids. */
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createModelClient,
  type ModelClient,
  type TurnRequest,
} from '../../../activities/model-turn/model-client.ts';
import { ModelTurnError } from '../../../activities/model-turn/model-turn-error.ts';
import { readReply } from '../../../activities/model-turn/read-reply.ts';
import {
  strictCallIdPattern,
  wantsStrictCallIds,
  withStrictCallIds,
} from '../../../activities/tool-calls/strict-call-ids.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { ChatMessage } from '../../../contracts/chat-messages.ts';
import { caseFile, type CaseFile } from '../../case-file.ts';
import { startFakeModel, type FakeModel, type FakeRequest, type Script } from '../fake-model.ts';
import { toolOf } from './case-tools.ts';
import { grammarFaults } from './strict-grammar.ts';

let model: FakeModel | undefined;
let client: ModelClient | undefined;
afterEach(async () => {
  await client?.close();
  await model?.close();
  client = undefined;
  model = undefined;
});

const request: TurnRequest = {
  runId: 'run_1',
  turn: 1,
  class: 'batch',
  caller: 'tests',
  model: 'm',
  maxTokens: 64,
  messages: [{ role: 'user', content: 'go' }],
  tools: [],
};

async function ask(script: Script, more: Partial<TurnRequest>) {
  model ??= await startFakeModel(script);
  client ??= createModelClient(model.url);
  return await client.stream({ ...request, ...more }, new AbortController().signal);
}

const a20 = caseFile('A20');

describe(`${a20.id} ${a20.title}`, () => {
  const { tools } = z
    .object({
      tools: z.array(z.object({ name: z.string(), parameters: z.record(z.string(), z.unknown()) })),
    })
    .parse(a20.given);
  const sentSchema = z.array(
    z.object({ function: z.object({ name: z.string(), parameters: z.record(z.string(), z.unknown()) }) }),
  );

  it('the request with all of its tools is taken by an engine that refuses each as it was', async () => {
    const { reply } = await ask(
      (turn) => {
        const sent = sentSchema.parse(turn.body.tools);
        const faults = sent.flatMap((tool) => grammarFaults(tool.function.parameters));
        if (faults.length > 0) turn.json(400, { error: { message: faults.join('; ') } });
        else turn.say('ready');
      },
      { tools: tools.map(({ name, parameters }) => toolOf(name, parameters)) },
    );
    expect(reply.content).toBe('ready');
    expect(model?.requests).toHaveLength(1);
    const names = sentSchema.parse(model?.requests[0]?.body.tools).map((tool) => tool.function.name);
    expect(names).toHaveLength(Number(a20.expect['tool_count_sent']));
    expect(names).toEqual(tools.map(({ name }) => name));
  });
});

const storedSchema = z.array(
  z.discriminatedUnion('role', [
    z.object({ role: z.literal('user'), content: z.string() }),
    z.object({
      role: z.literal('assistant'),
      tool_calls: z.array(
        z.object({ id: z.unknown(), function: z.object({ name: z.string(), arguments: z.string() }) }),
      ),
    }),
    z.object({ role: z.literal('tool'), content: z.string() }),
  ]),
);

/** The transcript of a run whose engine gave its calls the ids of the stored chat. */
function transcriptOf(from: CaseFile): ChatMessage[] {
  const stored = storedSchema.parse(from.given['messages']);
  const validate = createValidator();
  const tools = [toolOf('step', { type: 'object' }), toolOf('t', { type: 'object' })];
  const transcript: ChatMessage[] = [];
  let turn = 0;
  let open: string[] = [];
  for (const message of stored) {
    if (message.role === 'assistant') {
      turn += 1;
      const calls = message.tool_calls.map(({ id, function: written }) => ({
        // What the collector makes of an id that is no text.
        id: typeof id === 'string' ? id : '',
        ...written,
      }));
      const reply = { content: '', calls, finishReason: 'tool_calls', model: 'm' };
      const counts = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
      const read = readReply({ ...reply, ...counts }, { turn, tools, transcript, validate });
      transcript.push(read.message);
      open = read.calls.map(({ id }) => id);
    } else if (message.role === 'tool') {
      transcript.push({ role: 'tool', tool_call_id: open.shift() ?? '', content: message.content });
    } else transcript.push(message);
  }
  return transcript;
}

const sentMessages = z.array(
  z.looseObject({
    role: z.string(),
    content: z.string().nullable(),
    tool_call_id: z.string().optional(),
    tool_calls: z.array(z.looseObject({ id: z.string() })).optional(),
  }),
);

/** Ids of the calls that a request holds, each with the content of its result. */
function pairsOf(messages: unknown): [string, string | null][] {
  const sent = sentMessages.parse(messages);
  const ids = sent.flatMap((message) => (message.tool_calls ?? []).map(({ id }) => id));
  return ids.map((id) => {
    const results = sent.filter((message) => message.tool_call_id === id);
    expect(results).toHaveLength(1);
    return [id, results[0]?.content ?? null];
  });
}

const a01 = caseFile('A01');
const a03 = caseFile('A03');

describe(`${a01.id} ${a01.title}`, () => {
  it('each call goes to the engine with a result of its own, under an id of its own', async () => {
    await ask((turn) => turn.say('done'), { messages: transcriptOf(a01) });
    const pairs = pairsOf(model?.requests[0]?.body.messages);
    expect(pairs).toHaveLength(Number(a01.expect['tool_messages_kept']));
    expect(pairs.map(([, content]) => content)).toEqual(a01.expect['tool_contents_in_order']);
    expect(new Set(pairs.map(([id]) => id)).size).toBe(pairs.length);
  });
});

/** Refuses ids as engines do that take nine letters and digits only. */
const strict =
  (words: string): Script =>
  (turn: FakeRequest) => {
    const ids = pairsOf(turn.body.messages).map(([id]) => id);
    const bad = ids.find((id) => !strictCallIdPattern.test(id));
    if (bad === undefined) turn.say('done');
    else turn.json(400, { object: 'error', message: words.replace('ID', bad), code: 400 });
  };
const refusal = 'Tool call id was ID but must be a-z, A-Z, 0-9, with a length of 9.';

describe(`${a03.id} ${a03.title}`, () => {
  const wanted = z
    .object({ pairs_kept: z.number(), distinct_ids: z.number(), all_ids_match_pattern: z.literal(true) })
    .parse(a03.expect);

  it('goes to an engine that takes only strict ids with pairs kept, and the same each time', async () => {
    expect(strictCallIdPattern.source).toBe(a03.given['strict_engine_id_pattern']);
    const messages = transcriptOf(a03);
    // One id that engines of other kinds take, and this one does not.
    const named = messages.map((message) => renamed(message, pairsOf(messages)[0]?.[0] ?? '', 'call_plain'));
    const { reply } = await ask(strict(refusal), { messages: named });
    expect(reply.content).toBe('done');
    await ask(strict(refusal), { messages: named, turn: 2 });
    const [refused, mended, again] = model?.requests ?? [];
    expect(model?.requests).toHaveLength(3);
    expect(pairsOf(refused?.body.messages).map(([id]) => id)).toContain('call_plain');
    const pairs = pairsOf(mended?.body.messages);
    expect(pairs).toHaveLength(wanted.pairs_kept);
    expect(new Set(pairs.map(([id]) => id)).size).toBe(wanted.distinct_ids);
    expect(pairs.every(([id]) => strictCallIdPattern.test(id))).toBe(wanted.all_ids_match_pattern);
    expect(pairs.map(([, content]) => content)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4']);
    expect(again?.body.messages).toEqual(mended?.body.messages);
  });

  it('is not sent again for any other refusal', async () => {
    const other = (turn: FakeRequest): void => turn.json(400, { error: { message: 'unknown tool' } });
    await expect(ask(other, { messages: transcriptOf(a03) })).rejects.toThrow(ModelTurnError);
    expect(model?.requests).toHaveLength(1);
  });

  it.each([
    [400, refusal, true],
    [422, 'tool_call_id must match ^[a-zA-Z0-9]{9}$', true],
    [400, 'messages: no tool call id given', false],
    [500, refusal, false],
  ])('a %i that says "%s" asks for strict ids: %s', (status, message, wants) => {
    expect(wantsStrictCallIds(status, message)).toBe(wants);
  });

  it('keeps pairs and differences for any ids, and never changes one that was sent', () => {
    const id = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[A-Za-z0-9]{9}$/),
      fc.constantFrom('call_0', 'c0000000a'),
    );
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 20 }), fc.nat(), (ids, seed) => {
        const messages = ids.flatMap((one): ChatMessage[] => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: one, type: 'function', function: { name: 't', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: one, content: `of ${one}` },
        ]);
        const sent = withStrictCallIds(messages);
        const pairs = pairsOf(sent);
        expect(pairs.map(([, content]) => content)).toEqual(ids.map((one) => `of ${one}`));
        expect(new Set(pairs.map(([one]) => one)).size).toBe(ids.length);
        expect(pairs.every(([one]) => strictCallIdPattern.test(one))).toBe(true);
        const before = seed % (messages.length + 1);
        expect(withStrictCallIds(messages.slice(0, before))).toEqual(sent.slice(0, before));
      }),
    );
  });
});

function renamed(message: ChatMessage, from: string, to: string): ChatMessage {
  return JSON.parse(
    JSON.stringify(message).replaceAll(JSON.stringify(from), JSON.stringify(to)),
  ) as ChatMessage;
}
