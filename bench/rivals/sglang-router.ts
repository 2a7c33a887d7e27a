/** SGLang's router: the one that the bars are set over. */
import { startRival, type RivalKind, type StartRival } from './rival.ts';

const kind: RivalKind = {
  name: 'sglang-router',
  version: '0.3.2',
  purpose: "SGLang's router",
  module: 'sglang_router.launch_router',
};

export const startSglangRouter: StartRival = async (engineUrls, deps) =>
  await startRival(kind, engineUrls, deps);
