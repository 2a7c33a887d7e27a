/**
 * Fetches the programs that tests start: Temporal's server, llama.cpp with its model, Redis, and Chromium
 * where it can be had.
 */
import { join, resolve } from 'node:path';
import { ensureChromium } from '../cli/setup/chromium.ts';
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
try {
  await ensureChromium(stateDir, process.env, progress);
} catch (error) {
  if (!(error instanceof SetupFault)) throw error;
  // The tests of the page are then reported as skipped, by name.
  progress(error.message);
}
