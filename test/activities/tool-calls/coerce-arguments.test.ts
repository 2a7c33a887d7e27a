import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../activities/tool-calls/coerce-arguments.ts';
import { createValidator } from '../../../activities/tool-calls/validate-arguments.ts';
import { outcomeOf, toolOf } from './case-tools.ts';
import { fittingCall } from './typed-values.ts';

const validate = createValidator();
const runs = 100;

describe('coercion', () => {
  it('never changes a value that already fits', () => {
    fc.assert(
      fc.property(fittingCall, ({ schema, value }) => {
        expect(validate(value, schema)).toEqual([]);
        expect(coerceArguments(value, schema)).toEqual({ value, problems: [] });
        expect(outcomeOf(JSON.stringify(value), toolOf('t', schema))).toEqual({ coerced: value });
      }),
      { numRuns: runs },
    );
  }, 60_000);

  it('changes nothing any more once it is done', () => {
    fc.assert(
      fc.property(
        fittingCall,
        fc.dictionary(fc.constantFrom('first', 'second'), fc.jsonValue()),
        (call, other) => {
          const once = coerceArguments({ ...call.value, ...other }, call.schema);
          if (once.problems.length > 0) return;
          const twice = coerceArguments(once.value as Record<string, unknown>, call.schema);
          expect(twice).toEqual(once);
        },
      ),
    );
  });

  it('leaves the value that it is given as it was', () => {
    const given = { tags: '["a"]', opts: { deep: 'true' } };
    const before = structuredClone(given);
    coerceArguments(given, {
      properties: { tags: { type: 'array' }, opts: { properties: { deep: { type: 'boolean' } } } },
    });
    expect(given).toEqual(before);
  });

  it('follows references inside alternatives', () => {
    const tool = toolOf('t', {
      type: 'object',
      properties: { at: { anyOf: [{ $ref: '#/$defs/point' }, { type: 'null' }] } },
      $defs: { point: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] } },
    });
    expect(outcomeOf('{"at":{"x":"3"}}', tool)).toEqual({ coerced: { at: { x: 3 } } });
    expect(outcomeOf('{"at":"{\\"x\\": 3}"}', tool)).toEqual({ coerced: { at: { x: 3 } } });
    expect(outcomeOf('{"at":null}', tool)).toEqual({ coerced: { at: null } });
    expect(outcomeOf('{"at":{}}', tool).refusal).toContain('at.x: missing');
  });

  it('takes the alternative that the fixed values name', () => {
    const tool = toolOf('t', {
      type: 'object',
      properties: {
        step: {
          oneOf: [
            { type: 'object', properties: { kind: { const: 'wait' }, n: { type: 'integer' } } },
            { type: 'object', properties: { kind: { const: 'say' }, n: { type: 'string' } } },
          ],
        },
      },
    });
    expect(outcomeOf('{"step":{"kind":"wait","n":"5"}}', tool)).toEqual({
      coerced: { step: { kind: 'wait', n: 5 } },
    });
    expect(outcomeOf('{"step":{"kind":"say","n":5}}', tool)).toEqual({
      coerced: { step: { kind: 'say', n: '5' } },
    });
  });

  it('ends for schemas that refer to themselves without end', () => {
    const loop = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
    expect(coerceArguments({ x: 1 }, loop).value).toEqual({ x: 1 });
    const all = { allOf: [{ $ref: '#' }, { $ref: '#' }], anyOf: [{ $ref: '#' }, { $ref: '#' }] };
    expect(coerceArguments({ x: 1 }, all).value).toEqual({ x: 1 });
  });
});
