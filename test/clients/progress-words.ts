/** What a screen shows while an await is under way: its last state, and each line with words of our reports. Pure. */

/** As mcp-server/mcp/wait-and-tell.ts puts it. */
const words = /\d+ of \d+ ended/;
const linesLimit = 100;

export class ProgressWords {
  readonly #ours = new Set<string>();
  #lastScreen: readonly string[] = [];

  look(lines: readonly string[], awaiting: boolean): void {
    if (!awaiting) return;
    this.#lastScreen = lines.filter((line) => line.trim() !== '');
    for (const line of lines) {
      if (words.test(line) && this.#ours.size < linesLimit) this.#ours.add(line.trim());
    }
  }

  get ours(): readonly string[] {
    return [...this.#ours];
  }

  /** The last screen of the wait, without its empty lines. */
  get lastScreen(): readonly string[] {
    return this.#lastScreen;
  }
}
