/**
 * Handles of runs: drawn at random, or derived from a caller's request id, so that a repeated start is
 * the same workflow id for Temporal, on every mcp-server and after every restart.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Caller, Handle } from '../../contracts/ids.ts';
import type { RunInput } from '../../contracts/run.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const handleLength = 22;

/** 22 characters of base62 hold 131 bits; what is over them is dropped. */
function toHandle(bytes: Buffer): Handle {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  while (text.length < handleLength) {
    text += alphabet.charAt(Number(rest % 62n));
    rest /= 62n;
  }
  return `run_${text}` as Handle;
}

export function newHandle(): Handle {
  return toHandle(randomBytes(32));
}

/** The same caller and request id give the same handle, always; another caller's never the same one. */
export function handleFor(caller: Caller, requestId: string): Handle {
  const key = JSON.stringify(['fermata run', caller, requestId]);
  return toHandle(createHash('sha256').update(key).digest());
}

/**
 * What a repeated start is compared by: everything that was asked for, not who asked or how it is traced.
 * @param parent null: it was asked for as a root.
 */
export function requestHash(input: RunInput, parent: Handle | null = null): string {
  const {
    task,
    model,
    class: serviceClass,
    system,
    tools,
    maxToolCalls,
    maxTokens,
    parallelToolCalls,
    approveTools,
    budget,
  } = input;
  const asked = [
    task,
    model,
    serviceClass,
    system ?? null,
    tools,
    maxToolCalls,
    maxTokens,
    parallelToolCalls,
    approveTools,
    [budget?.tokens ?? null, budget?.toolCalls ?? null, budget?.seconds ?? null],
    parent,
  ];
  return createHash('sha256').update(JSON.stringify(asked)).digest('hex').slice(0, 32);
}
