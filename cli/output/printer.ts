/**
 * Where the words of a command go: its answer to standard output, as JSON or for a person; what it says
 * while it works to standard error, so that a pipe gets the answer alone.
 */
import { styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

export interface Printer {
  readonly json: boolean;
  /** Columns of the terminal; 0: no terminal, nothing is cut. */
  readonly columns: number;
  /** One answer: `human` on a terminal, `value` as one line of JSON elsewhere. */
  answer(value: unknown, human: () => string): void;
  /** Over the last one; nothing where stderr is no terminal. */
  progress(line: string): void;
  /** Takes the progress line away. */
  settle(): void;
  /** To stderr, always. */
  note(line: string): void;
  style(style: Style, text: string): string;
}

interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface PrinterOptions {
  /** undefined: JSON wherever standard output is no terminal. */
  readonly json: boolean | undefined;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const eraseLine = '\r\x1b[2K';

export function createPrinter({ json: asked, stdout, stderr, environment }: PrinterOptions): Printer {
  const json = asked ?? stdout.isTTY !== true;
  const coloured = stdout.isTTY === true && (environment['NO_COLOR'] ?? '') === '';
  let shown = false;
  const settle = (): void => {
    if (shown) stderr.write(eraseLine);
    shown = false;
  };
  return {
    json,
    columns: stdout.isTTY === true ? (stdout.columns ?? 80) : 0,
    answer(value, human) {
      settle();
      const text = json ? JSON.stringify(value) : human();
      stdout.write(text.endsWith('\n') || text === '' ? text : `${text}\n`);
    },
    progress(line) {
      if (stderr.isTTY !== true) return;
      const room = Math.max(10, (stderr.columns ?? 80) - 1);
      stderr.write(`${eraseLine}${line.length > room ? `${line.slice(0, room - 1)}…` : line}`);
      shown = true;
    },
    settle,
    note(line) {
      settle();
      stderr.write(`${line}\n`);
    },
    style: (style, text) => (coloured && !json ? styleText(style, text, { validateStream: false }) : text),
  };
}
