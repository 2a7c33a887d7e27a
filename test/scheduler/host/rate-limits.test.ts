import { expect, it } from 'vitest';
import { configFileSchema } from '../../../contracts/config-file.ts';
import { rateLimitsOf } from '../../../scheduler/host/rate-limits.ts';

function limitsOf(callers: unknown): unknown {
  const pool = [{ id: 'a', url: 'http://127.0.0.1:1' }];
  return rateLimitsOf(configFileSchema.parse({ pool, callers }).callers);
}

it('proxies are told the limits of callers, without what is the scheduler’s own', () => {
  expect(limitsOf({ farm: { weight: 2, requestsPerMinute: 10 }, vip: { weight: 5 } })).toEqual({
    farm: { requestsPerMinute: 10 },
  });
});

it('a caller whose entry names no limit is free of those for everyone', () => {
  expect(limitsOf({ '*': { requestsPerMinute: 10 }, vip: { weight: 5 } })).toEqual({
    '*': { requestsPerMinute: 10 },
    vip: {},
  });
});
