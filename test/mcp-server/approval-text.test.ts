import { describe, expect, it } from 'vitest';
import type { PendingApproval } from '../../contracts/run.ts';
import {
  approvalLines,
  fitApprovals,
  noneFitted,
  structuredApprovals,
} from '../../mcp-server/runs/approval-text.ts';

const approval = (id: string, given = `{"page":"${id}"}`): PendingApproval => ({
  id,
  tool: 'web__delete_page',
  arguments: given,
});
const many = (count: number, given?: string): PendingApproval[] =>
  Array.from({ length: count }, (_, index) => approval(`apr_${index}`, given));

describe('open approvals in an answer', () => {
  it('are shown whole where they fit', () => {
    const lists = [many(2), [], many(1)];
    const fitted = fitApprovals(lists);
    expect(fitted.lists).toEqual(lists.map((shown) => ({ shown, more: 0 })));
    expect(approvalLines({ shown: many(1), more: 0 })).toEqual([
      'waits for approval apr_0: web__delete_page {"page":"apr_0"}',
    ]);
  });

  it('have their arguments cut in the middle, with a note, where they are long', () => {
    const [list = noneFitted] = fitApprovals([[approval('apr_1', `{"text":"${'x'.repeat(90_000)}"}`)]]).lists;
    expect(list.shown[0]?.arguments).toMatch(
      /^\{"text":"x+\n\[cut: \d+ of 90011 characters left out here\]\nx+"\}$/,
    );
  });

  it.each([
    [1, 50],
    [10, 50],
    [100, 50],
    [100, 1],
  ])('of %i runs with %i each stay within their room, and tell how many are left out', (runs, each) => {
    const lists = Array.from({ length: runs }, () => many(each, `{"text":"${'x'.repeat(4_000)}"}`));
    const { lists: fitted, bytes } = fitApprovals(lists, 16_000);
    expect(bytes).toBeLessThan(17_000);
    const text = fitted.flatMap(approvalLines).join('\n');
    expect(text.length).toBeLessThan(17_000 + runs * 80);
    for (const [index, { shown, more }] of fitted.entries()) {
      expect(shown.length + more).toBe(each);
      expect(shown).toEqual(
        lists[index]?.slice(0, shown.length).map((one, at) => ({ ...one, arguments: shown[at]?.arguments })),
      );
    }
    expect(text.includes('more calls wait; status with its handle lists them')).toBe(runs * each > 40);
  });

  it('come as the first of them and as a list, or not at all', () => {
    expect(structuredApprovals(noneFitted)).toEqual({});
    const shown = many(2);
    expect(structuredApprovals({ shown, more: 0 })).toEqual({
      pendingApproval: shown[0],
      pendingApprovals: shown,
    });
    expect(structuredApprovals({ shown, more: 3 })).toMatchObject({ morePendingApprovals: 3 });
    expect(structuredApprovals({ shown: [], more: 3 })).toEqual({ morePendingApprovals: 3 });
  });
});
