/** A worker process with a bundle made before: its argument is the JSON of a `WorkerConfig`. */
import { pino } from 'pino';
import { createWorker, type WorkerConfig } from '../../activities/create-worker.ts';

const worker = await createWorker(JSON.parse(process.argv[2] ?? '{}') as WorkerConfig, {
  logger: pino({ level: 'warn' }, pino.destination(2)),
});
process.once('SIGTERM', () => {
  void worker.close().then(() => process.exit(0));
});
console.log('ready');
