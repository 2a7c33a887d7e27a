/** Fetches the programs that tests start: Temporal's server, llama.cpp with its model, and Redis. */
import { join, resolve } from 'node:path';
import { ensureLlamaCppPython } from '../cli/setup/llamacpp-python.ts';
import { ensureRedisServer } from '../cli/setup/redis-server.ts';
import { SetupFault } from '../cli/setup/setup-fault.ts';
import { ensureTemporalBinary } from '../cli/setup/temporal-binary.ts';

const stateDir = join(resolve(import.meta.dirname, '..'), '.fermata');
const progress = (line: string): boolean => process.stderr.write(`fermata: ${line}\n`);
try {
  await ensureTemporalBinary(stateDir, process.env['PATH'] ?? '', progress);
  await ensureLlamaCppPython(stateDir, progress);
  await ensureRedisServer(stateDir, process.env['PATH'] ?? '', progress);
} catch (error) {
  if (!(error instanceof SetupFault)) throw error;
  process.stderr.write(`fermata: ${error.message}\n`);
  process.exit(1);
}
