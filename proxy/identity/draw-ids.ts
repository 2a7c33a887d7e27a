/** Draws the ids that a proxy makes: runs, itself. Random, so not for pure code. */
import { randomBytes } from 'node:crypto';
import type { ProxyId } from '../../contracts/ids.ts';
import type { RunName } from './scoped-run.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 that a byte can hold: bytes from it on are drawn again, for an even spread. */
const evenBytes = 248;

/** Drawn ahead, because a call for each id costs more than all the rest of it; a byte is used once. */
const poolBytes = 4_096;
let pool = Buffer.alloc(0);
let poolAt = 0;

function drawBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    if (poolAt >= pool.length) {
      pool = randomBytes(poolBytes);
      poolAt = 0;
    }
    const byte = pool[poolAt++] ?? evenBytes;
    if (byte < evenBytes) text += alphabet[byte % alphabet.length];
  }
  return text;
}

/** A name for a new run in the form of a handle: `run_` and 22 letters and digits. */
export function drawRunName(): RunName {
  return `run_${drawBase62(22)}` as RunName;
}

export function drawProxyId(): ProxyId {
  return `prx_${drawBase62(12)}` as ProxyId;
}
