/** A logger whose lines a test reads. */
import { pino, type Logger } from 'pino';

export interface LoggedLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export function recordingLogger(): { readonly logger: Logger; readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as LoggedLine) },
  );
  return { logger, lines };
}
