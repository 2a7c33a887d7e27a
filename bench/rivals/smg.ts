/** SMG, the gateway that grew out of SGLang's router. */
import { startRival, type RivalKind, type StartRival } from './rival.ts';

const kind: RivalKind = { name: 'smg', version: '1.13.0', purpose: 'SMG', module: 'smg.launch_router' };

export const startSmg: StartRival = async (engineUrls, deps) => await startRival(kind, engineUrls, deps);
