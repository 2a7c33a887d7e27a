import { describe, expect, it } from 'vitest';
import { blameOf, endsOf } from '../../../bench/operate/blame.ts';
import type { Life } from '../../../bench/operate/member.ts';

const life = (from: Partial<Life>): Life => ({
  member: 'proxy-1',
  kind: 'proxy',
  pid: 7,
  readyMs: 0,
  toldMs: 1_000,
  goneMs: 1_020,
  end: 'killed',
  exitCode: null,
  ...from,
});
const broken = (startMs: number, endMs: number, server: string | null = 'proxy-1') => ({
  server,
  startMs,
  endMs,
  why: 'other side closed',
});

describe('a broken request', () => {
  it.each([
    ['under way when its server was killed', broken(900, 1_005)],
    ['begun between the kill and the end of its server', broken(1_010, 1_015)],
    ['that noticed the death late', broken(500, 9_000)],
  ])('is excused: %s', (_name, request) => {
    expect(blameOf([request], [life({})])).toEqual({ excused: { 'proxy-1': 1 }, inexcusable: [] });
  });

  it.each([
    ['it broke before the kill', broken(900, 990), life({})],
    ['it began when its server was gone', broken(1_021, 1_030), life({})],
    ['it went to another server', broken(900, 1_005, 'proxy-2'), life({})],
    ['it reached nobody', broken(900, 1_005, null), life({})],
    ['its server was asked to stop', broken(900, 1_005), life({ end: 'stopped', exitCode: 0 })],
    ['its server lives', broken(900, 1_005), life({ end: null, toldMs: null, goneMs: null })],
  ])('is not excused when %s', (_name, request, one) => {
    expect(blameOf([request], [one])).toEqual({ excused: {}, inexcusable: [request] });
  });

  it('is excused by any of the lives of its server', () => {
    const lives = [life({ toldMs: 10, goneMs: 20 }), life({ toldMs: 5_000, goneMs: 5_030 })];
    expect(blameOf([broken(4_990, 5_010)], lives).inexcusable).toEqual([]);
  });
});

describe('the ends of a kind', () => {
  it('are counted apart, and a stop that did not end in order is named', () => {
    const lives = [
      life({}),
      life({ end: 'stopped', exitCode: 0 }),
      life({ member: 'proxy-2', end: 'stopped', exitCode: null }),
      life({ member: 'worker-1', kind: 'worker' }),
      life({ end: null, toldMs: null, goneMs: null }),
    ];
    expect(endsOf('proxy', lives)).toEqual({
      kind: 'proxy',
      killed: 1,
      stopped: 2,
      stoppedBadly: ['proxy-2 ended with a signal'],
    });
  });
});
