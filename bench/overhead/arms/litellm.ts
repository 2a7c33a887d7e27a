/**
 * LiteLLM's proxy as its production guide has it: one Uvicorn worker, no verbose output, log level ERROR,
 * production mode, no database and no callbacks. The newest release whose `[proxy]` packages could all be had.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '../../../cli/setup/free-port.ts';
import { ensureVenv } from '../../../cli/setup/private-venv.ts';
import { engineModels } from '../engine-models.ts';
import { startProcess } from '../processes.ts';
import { untilAnswering } from './answers.ts';
import type { StartArm } from './arm.ts';

const version = '1.106.12';

export const startLiteLlm: StartArm = async (site) => {
  const venv = await ensureVenv(
    site.toolsDir,
    { name: `litellm-${version}`, installs: [[`litellm[proxy]==${version}`]], purpose: 'LiteLLM' },
    site.progress,
  );
  const config = {
    model_list: engineModels.map((model) => ({
      model_name: model,
      litellm_params: { model: `openai/${model}`, api_base: `${site.engineUrl}/v1`, api_key: 'sk-bench' },
    })),
    litellm_settings: { set_verbose: false, request_timeout: 600, telemetry: false },
    general_settings: {
      disable_spend_logs: true,
      disable_error_logs: true,
      // No arm checks tokens here.
      dangerously_permit_weak_or_unset_master_key: true,
    },
  };
  const configPath = join(site.workDir, 'litellm.yaml');
  await writeFile(configPath, JSON.stringify(config));
  const port = await findFreePort('127.0.0.1');
  const running = await startProcess({
    name: 'litellm',
    // The scripts of a virtual environment that was moved into place name its old one.
    command: join(venv, 'bin', 'python'),
    args: [
      '-c',
      'from litellm import run_server; run_server()',
      '--config',
      configPath,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--num_workers',
      '1',
    ],
    environment: {
      ...site.environment,
      LITELLM_MODE: 'PRODUCTION',
      LITELLM_LOG: 'ERROR',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_TELEMETRY: 'False',
    },
    workDir: site.workDir,
  });
  const target = { url: `http://127.0.0.1:${port}`, headers: {} };
  try {
    await untilAnswering(running, target);
  } catch (error) {
    await running.close();
    throw error;
  }
  return {
    name: 'litellm',
    target,
    processes: [running],
    version,
    close: async () => await running.close(),
  };
};
