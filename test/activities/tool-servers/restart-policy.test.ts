import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRestartPolicy } from '../../../activities/tool-servers/restart-policy.ts';

describe('restarts', () => {
  it('forgive the first early end, then wait twice as long each time, up to 30 s', () => {
    const policy = createRestartPolicy();
    const waits: number[] = [];
    let nowMs = 0;
    for (let end = 0; end < 8; end += 1) {
      policy.opened();
      policy.ended({ openedAtMs: nowMs, endedAtMs: nowMs + 100, replaced: false });
      nowMs += 100;
      waits.push(policy.waitMs(nowMs));
      nowMs += policy.waitMs(nowMs);
    }
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    policy.opened();
    policy.ended({ openedAtMs: nowMs, endedAtMs: nowMs + 30_000, replaced: false });
    expect(policy.waitMs(nowMs + 30_000)).toBe(0);
  });

  it('never make a storm, whatever fails and ends', () => {
    const event = fc.record({ opens: fc.boolean(), livesMs: fc.integer({ min: 0, max: 40_000 }) });
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 60 }), (events) => {
        const policy = createRestartPolicy();
        let nowMs = 0;
        let starts = 0;
        for (const { opens, livesMs } of events) {
          nowMs += policy.waitMs(nowMs);
          starts += 1;
          if (!opens) {
            policy.openFailed(nowMs);
            continue;
          }
          policy.opened();
          policy.ended({ openedAtMs: nowMs, endedAtMs: nowMs + livesMs, replaced: false });
          nowMs += livesMs;
        }
        expect(policy.waitMs(nowMs)).toBeLessThanOrEqual(30_000);
        // One start a second on the whole, and one more at the beginning and after each steady time.
        expect(starts).toBeLessThanOrEqual(nowMs / 1_000 + 2 + nowMs / 30_000);
      }),
    );
  });
});
