/** Starts llama.cpp and prints its process id, for the test that kills its parent: `launch-main.ts PYTHON`. */
import { startLlamaCpp } from '../../../testkit/llamacpp/launch.ts';

const { pid } = await startLlamaCpp({ python: process.argv[2] ?? 'python3', contextTokens: 512, slots: 1 });
process.stdout.write(`${pid}\n`);
// Only a signal ends this process.
setInterval(() => undefined, 60_000);
