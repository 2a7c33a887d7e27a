/** A command as the README has it, so that what is tried is what people read. Pure. */

/**
 * The first line of a fenced `sh` block that matches, without its comment.
 * @throws Error when there is none.
 */
export function readmeCommand(readme: string, pattern: RegExp): string {
  for (const [, block] of readme.matchAll(/```sh\n([\s\S]*?)```/g)) {
    for (const line of block?.split('\n') ?? []) {
      const command = line.replace(/\s+#\s.*$/, '').trim();
      if (pattern.test(command)) return command;
    }
  }
  throw new Error(`the README has no command like ${pattern}`);
}
