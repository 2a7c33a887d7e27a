import { describe, expect, it } from 'vitest';
import { fleetScript, lastText, type ScriptedReply, type ToolExchange } from './fleet-script.ts';

const handle = (letter: string): string => `run_${letter.repeat(22)}`;
const spawned = ['a', 'b', 'c'].map((letter) => ({ name: 'spawn', result: `${handle(letter)}: started.` }));
const awaited = (result: string): ToolExchange => ({ name: 'await', result });
const script = fleetScript(60);

const callsOf = (reply: ScriptedReply): readonly unknown[] =>
  'text' in reply ? [reply.text] : reply.calls.map(({ name, input }) => [name, input]);

describe('the scripted model of an agent', () => {
  it('spawns three at once and awaits the handles that it got', () => {
    expect(callsOf(script([]))).toHaveLength(3);
    expect(callsOf(script(spawned))).toEqual([
      ['await', { handles: ['a', 'b', 'c'].map(handle), timeoutSeconds: 60 }],
    ]);
  });

  it.each([
    ['a text', `${handle('c')}: AwaitingApproval (awaiting approval)`],
    ['structured content', JSON.stringify({ handle: handle('c'), status: 'AwaitingApproval' })],
  ])('decides what waits when %s tells it, and awaits again', (_form, told) => {
    const waiting = [...spawned, awaited(told)];
    expect(callsOf(script(waiting))).toEqual([['approve', { handle: handle('c'), allow: true }]]);
    const decided = [...waiting, { name: 'approve', result: 'allowed' }];
    expect(callsOf(script(decided))).toMatchObject([['await', {}]]);
  });

  it('spawns a fourth, cancels that one, and ends', () => {
    const all = [...spawned, awaited('all Completed')];
    expect(callsOf(script(all))).toMatchObject([['spawn', {}]]);
    const four = [...all, { name: 'spawn', result: handle('d') }];
    expect(callsOf(script(four))).toMatchObject([['cancel', { handle: handle('d') }]]);
    expect(script([...four, { name: 'cancel', result: '' }])).toEqual({ text: lastText });
  });
});
