/** In place of a router the first engine itself, so that a test needs nobody else's program. */
import type { StartRival } from '../../../bench/rivals/rival.ts';

export const noRouter: StartRival = async (engineUrls, { workDir }) => ({
  name: 'no router',
  version: '0',
  url: engineUrls[0] ?? '',
  process: { name: 'no router', pid: process.pid, logPath: workDir, close: async () => {} },
  close: async () => {},
});
