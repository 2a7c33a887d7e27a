/** Turns with images through the model client to engines that take them, refuse them, or want another order. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  createModelClient,
  type ModelClient,
  type TurnRequest,
} from '../../../activities/model-turn/model-client.ts';
import type { ChatMessage } from '../../../contracts/chat-messages.ts';
import { startFakeModel, type FakeModel, type FakeRequest, type Script } from '../fake-model.ts';

let model: FakeModel;
let client: ModelClient;
afterEach(async () => {
  await client.close();
  await model.close();
});

async function start(script: Script, images: () => unknown = () => true): Promise<void> {
  model = await startFakeModel(script, () => [{ id: 'm', fermata: { images: images(), replicas: [] } }]);
  client = createModelClient(model.url);
}

const transcript = (...results: [id: string, image: string | null][]): ChatMessage[] => [
  { role: 'user', content: 'look' },
  ...results.flatMap(([id, image]): ChatMessage[] => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'web__shot', arguments: '{}' } }],
    },
    {
      role: 'tool',
      tool_call_id: id,
      content: `shot ${id}`,
      ...(image === null ? {} : { images: [{ mimeType: 'image/png', data: image }] }),
    },
  ]),
];
const withImage = transcript(['call_a', 'AAAA']);

async function ask(messages: readonly ChatMessage[], runId = 'run_1'): Promise<string> {
  const request: TurnRequest = {
    runId,
    turn: 2,
    class: 'batch',
    caller: 'tests',
    model: 'm',
    maxTokens: 64,
    messages,
    tools: [],
  };
  const { reply } = await client.stream(request, new AbortController().signal);
  return reply.content;
}

const imagesIn = ({ body }: FakeRequest): string[] =>
  [...JSON.stringify(body.messages).matchAll(/data:image\/png;base64,([A-Za-z0-9+/=]+)/g)].map(
    ([, data]) => data ?? '',
  );
const sentImages = (): string[][] => model.requests.map(imagesIn);
const resultTexts = ({ body }: FakeRequest): unknown[] =>
  body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
const rolesOf = ({ body }: FakeRequest): string => body.messages.map(({ role }) => String(role)[0]).join('');
const refuseImages =
  (status: number, message: string): Script =>
  (turn) => {
    if (imagesIn(turn).length > 0) turn.json(status, { error: { message } });
    else turn.say('read');
  };

describe('a model that takes images', () => {
  it('gets them after the results', async () => {
    await start((turn) => turn.say('seen'));
    expect(await ask(withImage)).toBe('seen');
    expect(sentImages()).toEqual([['AAAA']]);
    expect(rolesOf(model.requests[0] as FakeRequest)).toBe('uatu');
  });
});

describe('a model that takes no images', () => {
  it.each([
    ['it says so', false],
    ['nothing is said of it', undefined],
  ])('is never sent one, even when the transcript holds some: %s', async (_why, images) => {
    await start(refuseImages(400, 'm is not a multimodal model'), () => images);
    expect(await ask(withImage)).toBe('read');
    expect(sentImages()).toEqual([[]]);
    expect(resultTexts(model.requests[0] as FakeRequest)).toEqual([
      'shot call_a\n[the image of this result left out: this model takes no images]',
    ]);
  });

  it('is told so again where the pool has changed since it was asked', async () => {
    let images = true;
    await start(
      (turn) => {
        if (!images && imagesIn(turn).length > 0) turn.json(400, { error: { message: 'no images here' } });
        else turn.say('ok');
      },
      () => images,
    );
    await ask(withImage);
    images = false;
    expect(await ask(withImage)).toBe('ok');
    expect(sentImages()).toEqual([['AAAA'], ['AAAA'], []]);
    expect(resultTexts(model.requests[2] as FakeRequest)[0]).toContain('this model takes no images');
    await ask(withImage);
    expect(sentImages()).toHaveLength(4);
  });
});

describe('an engine that refuses an image', () => {
  it.each([
    [400, 'cannot identify image file'],
    [422, 'messages.2.content: input should be a valid string'],
    [415, 'unsupported media'],
    [500, 'image input is not supported - hint: you may need to provide the mmproj'],
  ])('gets the turn without it, and the run goes on: %i %s', async (status, message) => {
    await start(refuseImages(status, message));
    expect(await ask(withImage)).toBe('read');
    expect(resultTexts(model.requests[1] as FakeRequest)).toEqual([
      'shot call_a\n[the image of this result left out: the engine did not take it]',
    ]);
  });

  it('is not sent that one again in the run, but later ones, and other runs theirs', async () => {
    await start((turn) => {
      if (imagesIn(turn).includes('BAD='))
        turn.json(400, { error: { message: 'cannot identify image file' } });
      else turn.say('ok');
    });
    const bad: [string, string] = ['call_a', 'BAD='];
    await ask(transcript(bad));
    await ask(transcript(bad, ['call_b', 'GOOD']));
    await ask(transcript(['call_a', 'FINE']), 'run_2');
    expect(sentImages()).toEqual([['BAD='], [], ['GOOD'], ['FINE']]);
    await client.endRun('run_1', new AbortController().signal);
    await ask(transcript(bad));
    expect(sentImages().slice(4)).toEqual([['BAD='], []]);
  });

  it.each([
    [400, 'temperature must be positive'],
    [401, 'no key'],
    [404, 'no such model'],
    [500, 'out of cheese'],
  ])('says what it means when it refuses the turn without images too: %i %s', async (status, message) => {
    await start((turn) => turn.json(status, { error: { message } }));
    await expect(ask(withImage)).rejects.toThrow(message);
    expect(model.requests).toHaveLength(status === 400 ? 2 : 1);
    await expect(ask(transcript(['call_a', null]))).rejects.toThrow(message);
    expect(model.requests).toHaveLength(status === 400 ? 3 : 2);
  });

  it('is not taken to refuse them when the conversation is too long', async () => {
    await start((turn) =>
      turn.json(400, {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (9000 in the messages).",
        },
      }),
    );
    await expect(ask(withImage)).rejects.toThrow(/maximum context length/);
    expect(model.requests).toHaveLength(1);
  });
});

describe("an engine that takes no user's message after a result", () => {
  const strict: Script = (turn) => {
    const ids = turn.body.messages.flatMap(({ tool_call_id: id }) => (typeof id === 'string' ? [id] : []));
    if (ids.some((id) => !/^[A-Za-z0-9]{9}$/.test(id))) {
      turn.json(400, { error: { message: 'Tool call id must be a-z, A-Z, 0-9, with a length of 9.' } });
    } else if (/tu/.test(rolesOf(turn))) {
      turn.json(400, { object: 'error', message: "Unexpected role 'user' after role 'tool'" });
    } else turn.say('seen');
  };

  it('gets a reply between, and strict ids where it wants them too, from then on at once', async () => {
    await start(strict);
    expect(await ask(withImage)).toBe('seen');
    expect(model.requests.map(rolesOf)).toEqual(['uatu', 'uatu', 'uatau']);
    expect(sentImages()).toEqual([['AAAA'], ['AAAA'], ['AAAA']]);
    expect(await ask(transcript(['call_a', 'AAAA'], ['call_b', null]), 'run_2')).toBe('seen');
    expect(model.requests).toHaveLength(4);
    expect(rolesOf(model.requests[3] as FakeRequest)).toBe('uatauat');
  });
});
