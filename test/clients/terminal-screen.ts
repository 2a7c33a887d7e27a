/**
 * A terminal without a window: it takes what a program writes, answers what a program asks a terminal, and says
 * what a person would see. 200 columns by 50 rows.
 */
import { stripVTControlCharacters } from 'node:util';
import headless from '@xterm/headless';

export const columns = 200;
export const rows = 50;
/** What a screen says, to be compared: blanks and colours left out. */
export function withoutBlanks(shown: string): string {
  return stripVTControlCharacters(shown).replaceAll(/\s+/g, '');
}

/** UTF-16 units kept of all lines that were ever seen, the last ones. */
const seenLimit = 400_000;

export class TerminalScreen {
  readonly #terminal = new headless.Terminal({ cols: columns, rows, scrollback: 0, allowProposedApi: true });
  readonly #looked: (lines: readonly string[]) => void;
  readonly #seen = new Set<string>();
  #seenUnits = 0;
  #lines: readonly string[] = [];

  /**
   * @param answer gets what the terminal answers by itself: where the cursor is, what kind it is, its colours.
   * @param looked is told the lines of the screen after each change.
   */
  constructor(answer: (text: string) => void, looked: (lines: readonly string[]) => void = () => undefined) {
    this.#looked = looked;
    this.#terminal.onData(answer);
  }

  /** Resolves when the text is on the screen. */
  async write(text: string): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#terminal.write(text, resolve);
    });
    const { active } = this.#terminal.buffer;
    this.#lines = Array.from({ length: rows }, (_row, at) =>
      (active.getLine(active.viewportY + at)?.translateToString(true) ?? '').trimEnd(),
    );
    for (const line of this.#lines) this.#remember(line);
    this.#looked(this.#lines);
  }

  #remember(line: string): void {
    if (line === '' || this.#seen.delete(line)) {
      if (line !== '') this.#seen.add(line);
      return;
    }
    this.#seen.add(line);
    this.#seenUnits += line.length;
    for (const oldest of this.#seen) {
      if (this.#seenUnits <= seenLimit) return;
      this.#seen.delete(oldest);
      this.#seenUnits -= oldest.length;
    }
  }

  /** What is to be seen now, blanks left out: where a program puts them is its own affair. */
  get text(): string {
    return withoutBlanks(this.#lines.join('\n'));
  }

  /** Every line that was ever to be seen, once each, by when it was seen last. */
  get everything(): string {
    return [...this.#seen].join('\n');
  }

  close(): void {
    this.#terminal.dispose();
  }
}
