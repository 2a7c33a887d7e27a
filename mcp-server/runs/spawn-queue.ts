/**
 * Spawns into trees, one message a tree at a time: what comes while a message is on its way goes with the
 * next one. Messages are bounded in number of runs and bytes; a run that is larger alone goes alone.
 */
import type { Handle } from '../../contracts/ids.ts';
import type { SpawnAnswer, SpawnChild } from '../../contracts/run-tree.ts';

interface Waiting {
  readonly request: SpawnChild;
  readonly bytes: number;
  resolve(answer: SpawnAnswer): void;
  reject(error: unknown): void;
}

const batchRuns = 16;
/** With ten servers at once the commands of one workflow task stay under Temporal's 4 MB. */
const batchBytes = 262_144;

/** @returns one answer a request, in their order. */
export type SendSpawns = (root: Handle, requests: readonly SpawnChild[]) => Promise<readonly SpawnAnswer[]>;

export class SpawnQueue {
  readonly #send: SendSpawns;
  readonly #waiting = new Map<Handle, Waiting[]>();

  constructor(send: SendSpawns) {
    this.#send = send;
  }

  async ask(root: Handle, request: SpawnChild): Promise<SpawnAnswer> {
    const bytes = Buffer.byteLength(request.input.task) + Buffer.byteLength(request.input.system ?? '');
    return await new Promise((resolve, reject) => {
      const waiting: Waiting = { request, bytes, resolve, reject };
      const queue = this.#waiting.get(root);
      if (queue !== undefined) {
        queue.push(waiting);
        return;
      }
      const started = [waiting];
      this.#waiting.set(root, started);
      void this.#work(root, started);
    });
  }

  async #work(root: Handle, queue: Waiting[]): Promise<void> {
    // Spawns of one moment, as a client that fans out makes them, go together.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    while (queue.length > 0) await this.#sendBatch(root, takeBatch(queue));
    this.#waiting.delete(root);
  }

  async #sendBatch(root: Handle, batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.#send(
        root,
        batch.map(({ request }) => request),
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('the tree gave no answer to a spawn'));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

function takeBatch(queue: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  for (const waiting of queue) {
    bytes += waiting.bytes;
    if (count > 0 && (bytes > batchBytes || count >= batchRuns)) break;
    count += 1;
  }
  return queue.splice(0, count);
}
