import { describe, expect, it } from 'vitest';
import { createPrinter } from '../../../cli/output/printer.ts';

function writer(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 20, written, write: (text: string) => written.push(text) };
}

function printer(terminal: boolean, json?: boolean, environment = {}) {
  const stdout = writer(terminal);
  const stderr = writer(terminal);
  return { ...createPrinter({ json, stdout, stderr, environment }), stdout, stderr };
}

describe('an answer', () => {
  it('is text on a terminal and JSON elsewhere', () => {
    const terminal = printer(true);
    terminal.answer({ a: 1 }, () => 'one');
    expect(terminal.stdout.written).toEqual(['one\n']);
    const pipe = printer(false);
    pipe.answer({ a: 1 }, () => 'one');
    expect(pipe.stdout.written).toEqual(['{"a":1}\n']);
  });

  it('is what was asked for, wherever it goes', () => {
    const terminal = printer(true, true);
    terminal.answer({ a: 1 }, () => 'one');
    expect(terminal.stdout.written).toEqual(['{"a":1}\n']);
    const pipe = printer(false, false);
    pipe.answer({ a: 1 }, () => 'one');
    expect(pipe.stdout.written).toEqual(['one\n']);
  });
});

describe('progress', () => {
  it('takes one line, and is gone before the answer', () => {
    const terminal = printer(true);
    terminal.progress('a line that is far too long for it');
    terminal.answer({}, () => 'done');
    expect(terminal.stderr.written).toEqual(['\r\u001b[2Ka line that is far…', '\r\u001b[2K']);
  });

  it('is not written where nobody looks', () => {
    const pipe = printer(false);
    pipe.progress('working');
    pipe.settle();
    expect(pipe.stderr.written).toEqual([]);
  });
});

describe('colours', () => {
  it('are for terminals whose owner has not said no', () => {
    expect(printer(true).style('red', 'x')).toContain('\u001b[');
    expect(printer(true, undefined, { NO_COLOR: '1' }).style('red', 'x')).toBe('x');
    expect(printer(false).style('red', 'x')).toBe('x');
    expect(printer(true, true).style('red', 'x')).toBe('x');
  });
});
