/**
 * Reads a request's body whole, within a bound, and adds a field to its JSON without touching any
 * other byte of it.
 */
import type { IncomingMessage } from 'node:http';
import { Fault } from './faults.ts';

/** Beyond the limit this much more is read and thrown away, so that the refusal reaches the client. */
const drainFactor = 2;

/**
 * @param limitBytes larger bodies are refused.
 * @throws Fault `body_too_large`, `invalid_request` for a compressed body or one that broke off.
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Fault(
      'invalid_request',
      `content-encoding '${encoding}' is not taken; send the body as plain JSON`,
    );
  }
  return await new Promise((resolve, reject) => {
    const reading = new BodyReading(limitBytes, resolve, reject);
    request.on('data', (chunk: Buffer) => reading.take(chunk));
    request.once('end', () => reading.end());
    request.once('error', () => reading.breakOff());
    request.once('close', () => reading.breakOff());
  });
}

/** What has come of a body. It outlives the body, with its request, so it lets go of what it has handed on. */
class BodyReading {
  readonly #limitBytes: number;
  readonly #resolve: (body: Buffer) => void;
  readonly #reject: (fault: Fault) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;

  constructor(limitBytes: number, resolve: (body: Buffer) => void, reject: (fault: Fault) => void) {
    this.#limitBytes = limitBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#limitBytes) this.#chunks.push(chunk);
    else this.#chunks = [];
    if (this.#bytes > this.#limitBytes * drainFactor) this.#refuse();
  }

  end(): void {
    this.#ended = true;
    if (this.#bytes > this.#limitBytes) {
      this.#refuse();
      return;
    }
    const [only] = this.#chunks;
    const whole = this.#chunks.length === 1 ? only : undefined;
    this.#resolve(whole ?? Buffer.concat(this.#chunks, this.#bytes));
    this.#chunks = [];
  }

  breakOff(): void {
    // Every request closes; a fault made in vain would cost each of them its stack.
    if (this.#ended) return;
    this.#reject(new Fault('invalid_request', 'the request broke off before its body was complete'));
  }

  #refuse(): void {
    this.#reject(new Fault('body_too_large', `the body is larger than ${this.#limitBytes} bytes; send less`));
  }
}

/**
 * @throws Fault `invalid_json` when it is not JSON, `invalid_request` when it is not an object.
 */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new Fault('invalid_json', `the body is not JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Fault('invalid_request', 'the body must be a JSON object');
}

/**
 * The same JSON text with one top-level field set; every other byte stays as the client wrote it, so
 * large numbers, key order and repeated keys survive.
 * @param body a JSON object with at least one field.
 */
export function setField(body: Buffer, name: string, valueJson: string): Buffer {
  const span = findField(body, name);
  if (span === null) return addField(body, name, valueJson);
  return Buffer.concat([body.subarray(0, span.start), Buffer.from(valueJson), body.subarray(span.end)]);
}

/** As {@link setField}, for a field that is known not to be there: nothing has to be looked for. */
export function addField(body: Buffer, name: string, valueJson: string): Buffer {
  const afterBrace = body.indexOf('{') + 1;
  return Buffer.concat([
    body.subarray(0, afterBrace),
    Buffer.from(`${JSON.stringify(name)}:${valueJson},`),
    body.subarray(afterBrace),
  ]);
}

const quote = 0x22;
const backslash = 0x5c;

/** Where the value of the last top-level field of this name stands: the one that JSON parsers take. */
function findField(body: Buffer, name: string): { start: number; end: number } | null {
  let depth = 0;
  let key: string | null = null;
  let valueStart = -1;
  let found: { start: number; end: number } | null = null;
  const closeValue = (end: number): void => {
    if (key === name && valueStart >= 0) found = { start: valueStart, end };
    key = null;
    valueStart = -1;
  };
  for (let index = 0; index < body.length; index++) {
    const byte = body[index];
    if (byte === quote) {
      const end = stringEnd(body, index);
      if (depth === 1 && key === null) key = JSON.parse(body.toString('utf8', index, end)) as string;
      index = end - 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
      if (depth === 0) closeValue(index);
    } else if (depth === 1 && byte === 0x3a && valueStart < 0) {
      valueStart = index + 1;
    } else if (depth === 1 && byte === 0x2c) {
      closeValue(index);
    }
  }
  return found;
}

/** Index after the closing quote of the string that opens at `start`. */
function stringEnd(body: Buffer, start: number): number {
  let index = start + 1;
  while (index < body.length && body[index] !== quote) index += body[index] === backslash ? 2 : 1;
  return index + 1;
}
