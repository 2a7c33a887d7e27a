/**
 * The prefix cache of a scripted engine: how many tokens of a prompt it has had before, as a real engine
 * reports it. Without it a scheduler would rightly take it that the contexts of paused runs are gone.
 */
const charactersPerToken = 4;
const maxPrompts = 64;

export class PromptCache {
  /** The last 64 prompts, the newest last. */
  readonly #prompts: string[] = [];

  /**
   * @param parts of the prompt in the order in which an engine would read them
   * @returns its length and how much of it begins an earlier one, in tokens.
   */
  read(parts: readonly unknown[]): { readonly tokens: number; readonly cachedTokens: number } {
    // Marks for a cache move from turn to turn; no engine has them in its prompt.
    const prompt = parts
      .map((part) =>
        JSON.stringify(part, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
      )
      .join('\n');
    const shared = this.#prompts.reduce((most, earlier) => Math.max(most, sharedLength(earlier, prompt)), 0);
    this.#prompts.splice(0, Math.max(0, this.#prompts.push(prompt) - maxPrompts));
    return {
      tokens: Math.ceil(prompt.length / charactersPerToken),
      cachedTokens: Math.floor(shared / charactersPerToken),
    };
  }
}

function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  return length;
}
