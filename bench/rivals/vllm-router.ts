/**
 * vLLM's router, as it comes and with its scheduling of agent programs, which it has beside its policies: what
 * an operator measures and tells it is told, everything else is its default.
 */
import { startRival, type RivalDeps, type RivalKind, type RunningRival, type StartRival } from './rival.ts';

const kind: RivalKind = {
  name: 'vllm-router',
  version: '0.1.17',
  purpose: "vLLM's router",
  module: 'vllm_router.launch_router',
};

export const startVllmRouter: StartRival = async (engineUrls, deps) =>
  await startRival(kind, engineUrls, deps);

/** What its documentation asks an operator to measure. */
export interface ProgramModel {
  /** KV memory of each engine. */
  readonly capacityTokens: number;
  readonly secondsPer1kPrompt: number;
  readonly decodeSeconds: number;
  readonly decodeSecondsPerRequest: number;
}

export async function startVllmPrograms(
  engineUrls: readonly string[],
  model: ProgramModel,
  deps: RivalDeps,
): Promise<RunningRival> {
  const config = {
    // Its recommended mode.
    global_queue: true,
    token_capacity_per_dp_rank: model.capacityTokens,
    prefill_cost_model: {
      intercept_seconds: 0,
      linear_seconds_per_1k_tokens: model.secondsPer1kPrompt,
      quadratic_seconds_per_1k_tokens_squared: 0,
    },
    decode_throughput_model: {
      fixed_step_seconds: model.decodeSeconds,
      batch_step_seconds_per_request: model.decodeSecondsPerRequest,
      context_step_seconds_per_token: 0,
    },
  };
  const args = ['--enable-program-scheduling', '--program-scheduling-config-json', JSON.stringify(config)];
  return await startRival({ ...kind, args }, engineUrls, deps);
}
