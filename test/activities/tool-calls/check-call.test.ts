import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCall } from '../../../activities/tool-calls/check-call.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import type { ListedTool } from '../../../contracts/tool-listing.ts';

const validate = createValidator();

function toolOf(inputSchema: Record<string, unknown>, serverTool = 'tool'): ListedTool {
  return {
    name: `kit__${serverTool}`,
    server: 'kit',
    serverTool,
    description: '',
    inputSchema,
    annotations: {},
  };
}

/** The arguments the tool would get, or the refusal. */
function outcome(raw: string | null | undefined, tool: ListedTool): unknown {
  const checked = checkCall(raw, tool, validate);
  return checked.kind === 'ok' ? JSON.parse(JSON.stringify(checked.value)) : checked.refusal.text;
}

describe('arrays and objects written as JSON text (A04)', () => {
  const tool = toolOf({
    type: 'object',
    properties: {
      tags: { type: 'array', items: { type: 'string' } },
      opts: { type: 'object', properties: { deep: { type: 'boolean' } } },
      ids: { anyOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] },
    },
    required: ['tags'],
  });
  it.each([
    ['{"tags":"[\\"a\\",\\"b\\"]"}', { tags: ['a', 'b'] }],
    ['{"tags":["a"],"opts":"{\\"deep\\": true}"}', { tags: ['a'], opts: { deep: true } }],
    ['{"tags":["a"],"opts":"{\\"deep\\": \\"True\\"}"}', { tags: ['a'], opts: { deep: true } }],
    ['{"tags":["a"],"ids":"[1,2]"}', { tags: ['a'], ids: [1, 2] }],
    ['{"tags":["a"],"ids":null}', { tags: ['a'], ids: null }],
    ['{"tags":[1,true]}', { tags: ['1', 'true'] }],
    ['{"tags":"[\\"a\\",\\"b\\""}', expect.stringContaining('tags: text is not a complete JSON array')],
    ['{"tags":"{\\"a\\":1}"}', expect.stringContaining('tags: object text where an array is wanted')],
    ['{"tags":"a"}', expect.stringContaining('tags: text where an array is wanted')],
  ])('%s', (raw, expected) => {
    expect(outcome(raw, tool)).toEqual(expected);
  });
});

describe('numbers and booleans written as text (A06)', () => {
  const tool = toolOf({
    type: 'object',
    properties: { count: { type: 'integer' }, ratio: { type: 'number' }, dry: { type: 'boolean' } },
  });
  it.each([
    ['{"count":"42"}', { count: 42 }],
    ['{"count":"-3"}', { count: -3 }],
    ['{"count":5.0}', { count: 5 }],
    ['{"ratio":"3.14"}', { ratio: 3.14 }],
    ['{"ratio":"1e3"}', { ratio: 1000 }],
    ['{"dry":"true"}', { dry: true }],
    ['{"dry":"False"}', { dry: false }],
    ['{"count":"3.14"}', expect.stringContaining('count: not an integer')],
    ['{"count":3.5}', expect.stringContaining('count: not an integer')],
    ['{"count":"12 items"}', expect.stringContaining('count: not an integer')],
    ['{"ratio":"inf"}', expect.stringContaining('ratio: not finite')],
    ['{"ratio":"NaN"}', expect.stringContaining('ratio: not finite')],
    ['{"ratio":1e999}', expect.stringContaining('ratio: not finite')],
    ['{"count":""}', expect.stringContaining('count: empty text')],
    ['{"dry":"yes"}', expect.stringContaining('dry: not a boolean')],
    ['{"dry":2}', expect.stringContaining('dry: not a boolean')],
  ])('%s', (raw, expected) => {
    expect(outcome(raw, tool)).toEqual(expected);
  });
});

describe('text fields without quotes, and numbers no double can hold (A09)', () => {
  const tool = toolOf({
    type: 'object',
    properties: {
      version: { type: 'string' },
      asset: { type: 'string' },
      flag: { type: 'string' },
      big: { type: 'integer' },
    },
  });
  it.each([
    ['{"version":1.10}', { version: '1.10' }],
    ['{"asset":9007199254740993123}', { asset: '9007199254740993123' }],
    ['{"version":"exact:1.10","asset":1.50}', { version: 'exact:1.10', asset: '1.50' }],
    ['{"flag":true}', { flag: 'true' }],
    ['{"big":9007199254740993}', expect.stringContaining('big: beyond exact range')],
    ['{"big":"9007199254740993"}', expect.stringContaining('big: beyond exact range')],
    ['{"big":9007199254740991}', { big: 9007199254740991 }],
  ])('%s', (raw, expected) => {
    expect(outcome(raw, tool)).toEqual(expected);
  });

  it('keeps every decimal that a text field is given', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9]\d{0,25}(\.\d{1,25})?$/), (number) => {
        expect(outcome(`{"version": ${number}}`, tool)).toEqual({ version: number });
      }),
    );
  });
});

describe('calls without arguments (A10)', () => {
  const ping = toolOf({ type: 'object', properties: {} });
  const find = toolOf({
    type: 'object',
    properties: { q: { type: 'string' }, n: { type: 'integer' } },
    required: ['q'],
  });
  it.each(['', '   ', null, 'null', '{}', undefined])('%j', (raw) => {
    expect(outcome(raw, ping)).toEqual({});
    expect(outcome(raw, find)).toEqual(expect.stringContaining('q: missing'));
  });
});

describe('wrapped arguments and echoed schemas (A11)', () => {
  const forecast = toolOf(
    {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
    'forecast',
  );
  const spawn = toolOf(
    {
      type: 'object',
      properties: { arguments: { type: 'object' }, cmd: { type: 'string' } },
      required: ['arguments'],
    },
    'spawn_proc',
  );
  it.each([
    ['{"arguments":{"city":"Bern"}}', forecast, { city: 'Bern' }],
    ['{"arguments":"{\\"city\\":\\"Bern\\"}"}', forecast, { city: 'Bern' }],
    ['{"name":"forecast","arguments":{"city":"Bern","days":"2"}}', forecast, { city: 'Bern', days: 2 }],
    ['{"parameters":{"city":"Bern"}}', forecast, { city: 'Bern' }],
    ['{"forecast":{"city":"Bern"}}', forecast, { city: 'Bern' }],
    ['{"kit__forecast":{"city":"Bern"}}', forecast, { city: 'Bern' }],
    ['{"type":"object","properties":{"city":"Bern"}}', forecast, { city: 'Bern' }],
    [
      '{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}',
      forecast,
      expect.stringContaining('schema sent in place of values'),
    ],
    [
      '{"city":{"type":"string","description":"Bern"}}',
      forecast,
      expect.stringContaining('city: object where text is wanted'),
    ],
    ['{"arguments":{"a":1}}', spawn, { arguments: { a: 1 } }],
  ])('%s', (raw, tool, expected) => {
    expect(outcome(raw, tool)).toEqual(expected);
  });
});

describe('a refusal', () => {
  const tool = toolOf({
    type: 'object',
    properties: {
      path: { type: 'string' },
      mode: { enum: ['r', 'w'] },
      lines: { type: 'array', items: { type: 'integer' } },
    },
    required: ['path', 'mode'],
    additionalProperties: false,
  });

  it('tells the shape that is wanted', () => {
    expect(outcome('{}', tool)).toBe(
      'Error: this call of kit__tool was not run: path: missing; mode: missing. Expected arguments: {"path": string, "mode": "r" | "w", "lines"?: [integer, …]}',
    );
  });

  it('never quotes what the model sent', () => {
    const secret = 'zebra-4711';
    for (const raw of [
      `{"path":["${secret}"],"mode":"r"}`,
      `{"path":"a","mode":"${secret}"}`,
      `{"path":"a","mode":"r","${secret}":1}`,
      `{"path":"a","mode":"r","lines":["${secret}"]}`,
      `"${secret}"`,
      `${secret} is no JSON {{{`,
    ]) {
      const text = outcome(raw, tool);
      expect(text).toEqual(expect.stringMatching(/^Error: /));
      expect(text).not.toContain(secret);
    }
  });

  it('says of text that stops in the middle that it was cut off, and does not repair it (A12)', () => {
    expect(outcome('{"path":"n.md","mode":"w","lines":[1,2', tool)).toEqual(
      expect.stringContaining('cut off before it was complete'),
    );
    expect(outcome('{"path":"# Title\\nfirst', tool)).toEqual(expect.stringContaining('smaller'));
  });
});

describe('text that is nearly JSON', () => {
  const tool = toolOf({
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
  });
  it.each([
    [`{'city': 'Bern'}`],
    [`{city: "Bern"}`],
    [`{"city": "Bern",}`],
    ['```json\n{"city": "Bern"}\n```'],
    [JSON.stringify('{"city":"Bern"}')],
  ])('%s', (raw) => {
    expect(outcome(raw, tool)).toEqual({ city: 'Bern' });
  });
});

describe('checking', () => {
  it('ends with arguments or a refusal for any text and any schema', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.json()),
        fc.dictionary(
          fc.string(),
          fc.record({ type: fc.constantFrom('string', 'integer', 'array', 'object', 'boolean', 'x') }),
        ),
        (raw, properties) => {
          const checked = checkCall(raw, toolOf({ type: 'object', properties }), validate);
          expect(['ok', 'refused']).toContain(checked.kind);
        },
      ),
    );
  });

  it('leaves arguments that fit as they are', () => {
    fc.assert(
      fc.property(fc.record({ city: fc.string(), days: fc.integer() }), (value) => {
        const tool = toolOf({
          type: 'object',
          properties: { city: { type: 'string' }, days: { type: 'integer' } },
        });
        expect(outcome(JSON.stringify(value), tool)).toEqual(value);
      }),
    );
  });

  it('lets a schema pass that cannot be compiled', () => {
    const tool = toolOf({ type: 'object', properties: { a: { type: 'string', pattern: '(' } } });
    expect(outcome('{"a":"x"}', tool)).toEqual({ a: 'x' });
  });
});
