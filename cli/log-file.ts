/**
 * The log of an embedded stack: everything goes to one file under the state directory, warnings and
 * worse to stderr too. Written synchronously, so that an early exit loses no line. A file that has reached 16 MiB at a start is put aside as `.1`, once.
 */
import { renameSync, statSync } from 'node:fs';
import { logSerializers } from '../auth/log-serializers.ts';
import { destination, multistream, pino, type Level, type Logger } from 'pino';

const rotateBytes = 16 * 1024 * 1024;

/** The file's folder must be there. */
export function openLog(path: string, level: string): Logger {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > rotateBytes) renameSync(path, `${path}.1`);
  if (level === 'silent') return pino({ level });
  return pino(
    { level, serializers: logSerializers },
    multistream([
      { level: level as Level, stream: destination({ dest: path, sync: true }) },
      { level: 'warn', stream: process.stderr },
    ]),
  );
}
