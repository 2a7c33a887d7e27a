/** The load generator asks the engine itself: what every other arm is set against. */
import type { StartArm } from './arm.ts';

export const startDirect: StartArm = async ({ engineUrl }) => ({
  name: 'direct',
  target: { url: engineUrl, headers: {} },
  processes: [],
  version: null,
  close: async () => {},
});
