import { expect, it } from 'vitest';
import { formatTraceparent, parseTraceparent } from '../../contracts/trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

it('a trace context is read from its header and written as it was', () => {
  const text = `00-${traceId}-${spanId}-01`;
  expect(parseTraceparent(text)).toEqual({ traceId, spanId, sampled: true });
  expect(formatTraceparent({ traceId, spanId, sampled: true })).toBe(text);
  expect(formatTraceparent({ traceId, spanId, sampled: false })).toBe(`00-${traceId}-${spanId}-00`);
});

it('flags that are not known and versions to come are taken as far as they are known', () => {
  expect(parseTraceparent(`00-${traceId}-${spanId}-fe`)?.sampled).toBe(false);
  expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-comes`)).toEqual({
    traceId,
    spanId,
    sampled: true,
  });
});

it.each([
  undefined,
  ['00-a'],
  '',
  'nonsense',
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}`,
  `cc-${traceId}-${spanId}-01-${'x'.repeat(200)}`,
])('%j is no trace context', (text) => {
  expect(parseTraceparent(text)).toBeNull();
});
