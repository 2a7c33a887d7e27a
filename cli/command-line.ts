/**
 * One command line: picks the verb, and turns every expected failure into one readable line on stderr and an
 * exit code (exit-codes.ts). What surrounds it is given; it neither reads the process nor ends it.
 */
import yargs from 'yargs';
import { TokensFault } from '../auth/tokens-file.ts';
import { SettingsFault } from '../contracts/settings.ts';
import { packageVersion } from '../mcp-server/runs/package-version.ts';
import { CommandFault, exitCodes, type ExitCode } from './exit-codes.ts';
import { SetupFault } from './setup/setup-fault.ts';
import { doctorVerb } from './verbs/doctor.ts';
import { loadgenVerb } from './verbs/loadgen.ts';
import { decideVerb, statusVerb, toolsVerb, transcriptVerb, treeVerb } from './verbs/looks.ts';
import { approveVerb, awaitVerb, cancelVerb, runVerb, spawnVerb } from './verbs/runs.ts';
import { mcpVerb, upVerb } from './verbs/services.ts';
import { setupVerb } from './verbs/setup-temporal.ts';
import { commandOf, type World } from './verbs/verb.ts';
import { versionsVerb } from './verbs/versions.ts';

/** @param words what follows the command's name. */
export async function runCommandLine(words: readonly string[], world: World): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok;
  const finish = (value: ExitCode): void => {
    code = value;
  };
  const parser = yargs([...words])
    .scriptName('fermata')
    .usage('$0 <verb> [options]')
    .version(packageVersion)
    .command(commandOf(upVerb, world, finish))
    .command(commandOf(spawnVerb, world, finish))
    .command(commandOf(runVerb, world, finish))
    .command(commandOf(awaitVerb, world, finish))
    .command(commandOf(statusVerb, world, finish))
    .command(commandOf(treeVerb, world, finish))
    .command(commandOf(transcriptVerb, world, finish))
    .command(commandOf(approveVerb, world, finish))
    .command(commandOf(cancelVerb, world, finish))
    .command(commandOf(toolsVerb, world, finish))
    .command(commandOf(decideVerb, world, finish))
    .command(commandOf(doctorVerb, world, finish))
    .command(commandOf(loadgenVerb, world, finish))
    .command(commandOf(setupVerb, world, finish))
    .command(commandOf(versionsVerb, world, finish))
    .command(commandOf(mcpVerb, world, finish))
    .completion('completion', 'Print a completion script for bash or zsh')
    .demandCommand(1, 'name a verb')
    .strict()
    .recommendCommands()
    .wrap(Math.min(100, world.stdout.columns ?? 100))
    .epilogue(
      'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a run failed or was cancelled, 4 time is up, 5 waits for approval, 130 interrupted.',
    )
    .exitProcess(false)
    .fail((message: string | undefined, error: Error | undefined) => {
      throw (
        error ??
        new CommandFault(
          `${(message ?? 'wrong usage').replaceAll(/\s*\n\s*/g, ' ')} (fermata --help)`,
          exitCodes.usage,
        )
      );
    });
  try {
    await parser.parseAsync();
  } catch (error) {
    code = exitCodeOf(error);
    world.stderr.write(`fermata: ${wordsOf(error)}\n`);
  }
  return code;
}

function wordsOf(error: unknown): string {
  const expected =
    error instanceof CommandFault ||
    error instanceof SetupFault ||
    error instanceof SettingsFault ||
    error instanceof TokensFault;
  if (expected) return error.message;
  if (error instanceof Error && error.name === 'YError') return `${error.message} (fermata --help)`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFault) return error.exitCode;
  return error instanceof Error && error.name === 'YError' ? exitCodes.usage : exitCodes.failed;
}
