import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../proxy/faults.ts';
import { parseJsonObject, setField } from '../../proxy/request-body.ts';

const set = (body: string, valueJson = '{"include_usage":true}'): string =>
  setField(Buffer.from(body), 'stream_options', valueJson).toString('utf8');

describe('adding a field to a body', () => {
  it('leaves every other byte as the client wrote it', () => {
    expect(set('{ "seed": 12345678901234567890,\n "model":"m" }')).toBe(
      '{"stream_options":{"include_usage":true}, "seed": 12345678901234567890,\n "model":"m" }',
    );
  });

  it('replaces the value that is there, the last one when it is there twice', () => {
    expect(set('{"a":1,"stream_options":null,"b":{"stream_options":2}}', '{}')).toBe(
      '{"a":1,"stream_options":{},"b":{"stream_options":2}}',
    );
    expect(set('{"stream_options":1,"stream_options":{"x":[1,"}"]}}', '9')).toBe(
      '{"stream_options":1,"stream_options":9}',
    );
  });

  it('finds a name written with escapes and is not misled by strings that look like it', () => {
    expect(set('{"\\u0073tream_options":1}', '2')).toBe('{"\\u0073tream_options":2}');
    expect(set('{"a":"\\",\\"stream_options\\":1","stream_options":{"k":"\\\\"},"z":0}', '2')).toBe(
      '{"a":"\\",\\"stream_options\\":1","stream_options":2,"z":0}',
    );
  });

  it('gives, for any object, the same object with that field set', () => {
    const objects = fc.dictionary(fc.oneof(fc.string(), fc.constant('stream_options')), fc.jsonValue(), {
      minKeys: 1,
    });
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
        const changed = JSON.parse(set(JSON.stringify(object, null, indent))) as unknown;
        expect(changed).toEqual(
          JSON.parse(JSON.stringify({ ...object, stream_options: { include_usage: true } })),
        );
      }),
    );
  });
});

describe('a body', () => {
  it.each([
    ['{"model":"m-test",', 'invalid_json'],
    ['', 'invalid_json'],
    ['nonsense', 'invalid_json'],
    ['[1]', 'invalid_request'],
    ['null', 'invalid_request'],
    ['"text"', 'invalid_request'],
  ])('%j is refused as %s', (body, code) => {
    let thrown: unknown = null;
    try {
      parseJsonObject(Buffer.from(body));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(Fault);
    expect((thrown as Fault).code).toBe(code);
  });
});
