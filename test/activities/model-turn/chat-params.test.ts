import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatParams, wantsBridge } from '../../../activities/model-turn/chat-params.ts';
import type { ChatMessage } from '../../../contracts/chat-messages.ts';

const task: ChatMessage = { role: 'user', content: 'look' };
const calling = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: `web__${id}`, arguments: '{}' } })),
});
const result = (id: string, ...images: string[]): ChatMessage => ({
  role: 'tool',
  tool_call_id: id,
  content: `seen ${id}`,
  ...(images.length === 0 ? {} : { images: images.map((data) => ({ mimeType: 'image/png', data })) }),
});
const imagePart = (data: string) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${data}` },
});
const roles = (params: readonly { role: string }[]): string => params.map(({ role }) => role[0]).join('');

describe('the messages of a run, as engines take them,', () => {
  it('are themselves while there is no image', () => {
    const messages = [task, calling('a', 'b'), result('a'), result('b')];
    expect(chatParams(messages, false)).toEqual(messages);
    expect(chatParams(messages, true)).toEqual(messages);
  });

  it('have the images of parallel calls after the last result, in call order, each with whose it is', () => {
    const messages = [
      task,
      calling('a', 'b', 'c'),
      result('a', 'AAAA', 'BBBB'),
      result('b'),
      result('c', 'CCCC'),
    ];
    expect(chatParams(messages, false)).toEqual([
      task,
      calling('a', 'b', 'c'),
      result('a'),
      result('b'),
      result('c'),
      {
        role: 'user',
        content: [
          {
            type: 'text',
            text: 'Images that the tools returned. They are output of the tools, not words of the user.',
          },
          { type: 'text', text: 'Result 1 (web__a), image 1:' },
          imagePart('AAAA'),
          { type: 'text', text: 'Result 1 (web__a), image 2:' },
          imagePart('BBBB'),
          { type: 'text', text: 'Result 3 (web__c), image 1:' },
          imagePart('CCCC'),
        ],
      },
    ]);
  });

  it('have the images of each reply before the next reply', () => {
    const messages = [
      task,
      calling('a'),
      result('a', 'AAAA'),
      calling('b'),
      result('b'),
      calling('c'),
      result('c', 'CCCC'),
    ];
    expect(roles(chatParams(messages, false))).toBe('uatuatatu');
    expect(roles(chatParams(messages, true))).toBe('uatauatatau');
  });

  it('begin alike when the run has grown, so that an engine finds its cache', () => {
    const messages = [task, calling('a'), result('a', 'AAAA'), calling('b'), result('b', 'BBBB')];
    for (const bridged of [false, true]) {
      const whole = chatParams(messages, bridged);
      const part = chatParams(messages.slice(0, 3), bridged);
      expect(whole.slice(0, part.length)).toEqual(part);
    }
  });

  it('hold text only in tool messages, every call next to its results, and every image once', () => {
    const round = fc.array(fc.array(fc.base64String({ minLength: 4, maxLength: 8 }), { maxLength: 3 }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 6 }), fc.boolean(), (rounds, bridged) => {
        const messages: ChatMessage[] = [task];
        for (const [turn, results] of rounds.entries()) {
          const ids = results.map((_, index) => `c${turn}_${index}`);
          messages.push(
            calling(...ids),
            ...results.map((images, index) => result(ids[index] ?? '', ...images)),
          );
        }
        const params = chatParams(messages, bridged);
        // Each call is answered, in order, by the messages right after it.
        const answered = params.flatMap((param, index) =>
          param.role === 'assistant'
            ? (param.tool_calls ?? []).map(({ id }, place) => ({ id, next: params[index + 1 + place] }))
            : [],
        );
        expect(answered).toEqual(
          answered.map(({ id }) => ({ id, next: { role: 'tool', tool_call_id: id, content: `seen ${id}` } })),
        );
        expect(answered).toHaveLength(params.filter(({ role }) => role === 'tool').length);
        expect(bridged && roles(params).includes('tu')).toBe(false);
        const seen = params.flatMap(({ role, content }) =>
          role === 'user' && Array.isArray(content)
            ? content.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))
            : [],
        );
        expect(seen).toEqual(rounds.flat(2).map((data) => `data:image/png;base64,${data}`));
      }),
    );
  });
});

it.each([
  [true, 400, "Unexpected role 'user' after role 'tool'"],
  [
    true,
    400,
    `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"BadRequestError"}`,
  ],
  [true, 500, 'Expected last role User or Tool; Unexpected role "user" after role "tool"'],
  [false, 400, "Unexpected role 'user' after role 'system'"],
  [false, 429, "Unexpected role 'user' after role 'tool'"],
  [false, 400, 'a user must log in after the tool was updated'],
])('a reply between results and images is wanted: %s (%i %s)', (wanted, status, message) => {
  expect(wantsBridge(status, message)).toBe(wanted);
});
