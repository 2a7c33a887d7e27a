/** Runs one program to its end with a time limit and keeps the tail of what it printed. */
import { spawn } from 'node:child_process';

export interface CommandResult {
  /** null: it could not be started, or was ended by the time limit. */
  readonly code: number | null;
  /** The last 8 KiB of stdout and stderr together. */
  readonly output: string;
}

const tailBytes = 8_192;

export async function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly timeoutMs: number },
): Promise<CommandResult> {
  return await new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: options.timeoutMs });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-tailBytes);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => resolve({ code: null, output: error.message }));
    child.on('close', (code) => resolve({ code, output }));
  });
}
