/** The `fermata` command as a process: its signals, its streams and its end. */
import { hideBin } from 'yargs/helpers';
import { runCommandLine } from './command-line.ts';
import { exitCodes } from './exit-codes.ts';

const interrupt = new AbortController();
// The services have handlers of their own, and a second Ctrl-C ends any verb at once.
const serving = ['up', 'mcp'].includes(process.argv[2] ?? '');
if (!serving) {
  process.on('SIGINT', () => {
    if (interrupt.signal.aborted) process.exit(exitCodes.interrupted);
    interrupt.abort();
  });
}
// Whoever reads our output has seen enough, as with `| head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.ok);
});

const code = await runCommandLine(hideBin(process.argv), {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted: interrupt.signal,
  nowMs: () => Date.now(),
});
process.exitCode = code;
// What a verb left open, such as a connection that is kept alive, does not hold up its end.
process.stdout.write('', () => process.exit(code));
