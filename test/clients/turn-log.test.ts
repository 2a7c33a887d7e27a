import { describe, expect, it } from 'vitest';
import { TurnLog } from './turn-log.ts';

const line = (fields: object): string =>
  JSON.stringify({
    level: 30,
    msg: 'turn',
    run: 'c/r',
    runName: 'r',
    runBy: 'header',
    api: 'chat',
    model: 'm',
    replica: 'a',
    status: 200,
    outcome: 'done',
    reason: null,
    caller: 'c',
    ...fields,
  });

describe('a turn log', () => {
  it('tells the pauses and the replicas of each run', () => {
    const log = new TurnLog();
    log.write(line({ outcome: 'paused' }));
    log.write(line({ run: 'other', replica: 'b' }));
    log.write(line({ outcome: 'paused', replica: 'b' }));
    log.write(line({}));
    expect(log.runs(() => true)).toMatchObject([
      { run: 'c/r', name: 'r', pauses: 2, replicas: ['a', 'b'] },
      { run: 'other', pauses: 0, replicas: ['b'] },
    ]);
  });

  it('leaves out other lines, and requests that came to no run', () => {
    const log = new TurnLog();
    log.write(line({ msg: 'something else' }));
    log.write(line({ run: null, outcome: 'rejected' }));
    expect(log.runs(() => true)).toEqual([]);
    expect(log.turns((turn) => turn.outcome === 'rejected')).toHaveLength(1);
  });

  it('keeps the last warnings word for word, and no other line among them', () => {
    const log = new TurnLog();
    for (let number = 0; number < 300; number += 1) log.write(`{"level":40,"msg":"w${number}"}\n`);
    log.write(line({}));
    expect(log.warnings.split('\n')).toHaveLength(201);
    expect(log.warnings.startsWith('{"level":40,"msg":"w100"}')).toBe(true);
  });
});
