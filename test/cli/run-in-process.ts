/** Runs a command line within this process, its output no terminal: as {@link runFermata}, without a process. */
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCommandLine } from '../../cli/command-line.ts';
import type { Ended } from './run-fermata.ts';

export interface InProcessOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

export async function runInProcess(
  words: readonly string[],
  { environment = {}, stdin = '' }: InProcessOptions = {},
): Promise<Ended> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const written = Promise.all([text(stdout), text(stderr)]);
  const ours = Object.entries(process.env).filter(([name]) => !/^(FERMATA|TEMPORAL)_/.test(name));
  const code = await runCommandLine(words, {
    environment: { ...Object.fromEntries(ours), ...environment },
    stdin: Readable.from([stdin]),
    stdout,
    stderr,
    interrupted: new AbortController().signal,
    nowMs: () => Date.now(),
  });
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}
