/** The usage of replies that can be megabytes of vectors, wherever engines write it. */
import { describe, expect, it } from 'vitest';
import { UsageReader } from '../../../proxy/reply/usage-reader.ts';

function read(text: string, chunkBytes = text.length): ReturnType<UsageReader['facts']> {
  const reader = new UsageReader();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.feed(bytes.subarray(at, at + chunkBytes));
  reader.end();
  return reader.facts();
}

/** A list of vectors as JSON, about this many bytes long. */
function data(bytes: number): string {
  const vector = `{"object":"embedding","index":0,"embedding":[${'0.0123456789,-0.5,'.repeat(50)}1]}`;
  return `[${Array.from({ length: Math.max(1, Math.round(bytes / vector.length)) }, () => vector).join(',')}]`;
}

const usage = '{"prompt_tokens":7,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":4}}';
const counted = { promptTokens: 7, completionTokens: 2 };

describe.each([100, 20_000, 3_000_000])('a reply with %i bytes of data', (bytes) => {
  it.each([
    ['after the data', `{"object":"list","data":${data(bytes)},"model":"e","usage":${usage}}`],
    ['after the data, not last', `{"data":${data(bytes)},"usage":${usage},"id":"x", "n":[{"usage":{}}] }\n`],
    ['before the data', `{"model":"e","object":"list","usage":${usage},"data":${data(bytes)}}`],
    ['before the data, with blanks', `{ "id": "x",\n "usage" : ${usage},\n "results": ${data(bytes)} }`],
  ])('has its usage %s', (_where, text) => {
    expect(read(text).usage).toEqual(counted);
    expect(read(text, 997).usage).toEqual(counted);
  });

  it.each([
    ['none at all', `{"data":${data(bytes)},"model":"e"}`],
    ['only one within the data', `{"data":[{"text":"a","usage":{"prompt_tokens":5}},${data(bytes)}]}`],
    ['only one within the last of the data', `{"data":[${data(bytes)},{"usage":{"prompt_tokens":5}}]}`],
    ['only one within a text', `{"data":${data(bytes)},"text":"\\"usage\\":{\\"prompt_tokens\\":5}}"}`],
    ['no object for it', `{"data":${data(bytes)},"usage":null}`],
    ['no JSON', `${'usage '.repeat(bytes / 6)}"usage":{"prompt_tokens":5}`],
    ['a list instead', data(bytes)],
  ])('that has %s tells nothing', (_what, text) => {
    expect(read(text).usage).toBeNull();
  });
});

it.each([
  ['totals alone, as Jina', '{"usage":{"total_tokens":12}}', { promptTokens: 12, completionTokens: 0 }],
  [
    'tokens in its meta, as Cohere',
    '{"results":[],"meta":{"api_version":{"version":"2"},"tokens":{"input_tokens":30,"output_tokens":0}}}',
    { promptTokens: 30, completionTokens: 0 },
  ],
  ['a meta without tokens', '{"meta":{"billed_units":{"search_units":1}}}', null],
  [
    'completion tokens, as scores by generation',
    '{"usage":{"prompt_tokens":5,"completion_tokens":1}}',
    { promptTokens: 5, completionTokens: 1 },
  ],
  ['counts that are none', '{"usage":{"prompt_tokens":"5","total_tokens":-1}}', null],
])('reads %s', (_what, text, expected) => {
  expect(read(text).usage).toEqual(expected);
});

it('is never taken for a stream that was cut', () => {
  expect(read('{"data":[').complete).toBe(false);
});
