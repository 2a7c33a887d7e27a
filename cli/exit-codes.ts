/** What the `fermata` command exits with, so that scripts can tell one end from another. */
export const exitCodes = {
  /** Done. */
  ok: 0,
  /** It could not be done: nothing answers, it was refused, a check found a fault. */
  failed: 1,
  /** The words on the command line cannot be meant. */
  usage: 2,
  /** A run that was awaited ended as Failed or Cancelled. */
  runFailed: 3,
  /** The time limit came first; the runs go on. */
  timeout: 4,
  /** All runs that are left wait for approval. */
  approval: 5,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** An end that its message explains to the user: one line on stderr, and this exit code. */
export class CommandFault extends Error {
  override readonly name = 'CommandFault';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
