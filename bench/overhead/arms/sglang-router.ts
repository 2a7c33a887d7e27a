/** SGLang's router: cache-aware policy over the one engine, its log at `error`, everything else as it comes. */
import { startSglangRouter as startRouter } from '../../rivals/sglang-router.ts';
import { untilAnswering } from './answers.ts';
import type { StartArm } from './arm.ts';

export const startSglangRouter: StartArm = async (site) => {
  const router = await startRouter([site.engineUrl], site);
  const target = { url: router.url, headers: {} };
  try {
    await untilAnswering(router.process, target);
  } catch (error) {
    await router.close();
    throw error;
  }
  return {
    name: 'sglang-router',
    target,
    processes: [router.process],
    version: router.version,
    close: async () => await router.close(),
  };
};
