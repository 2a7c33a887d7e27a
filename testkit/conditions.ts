/**
 * Waiting for a condition on something that changes, without sleeping: the owner says when it has changed,
 * each condition is looked at then, and gives up after its time. Bounded in number.
 */

export interface Conditions<View> {
  /** To be called after each change. */
  changed(): void;
  /**
   * Resolves with what `condition` returns as soon as that is neither null, undefined nor false; rejects
   * when `timeoutMs` (default 20 s) has passed, or with what the condition throws.
   */
  waitFor<T>(condition: (view: View) => T, timeoutMs?: number): Promise<NonNullable<T>>;
  /** Rejects every open wait. */
  close(): void;
}

const maxOpen = 1_000;

interface Waiter {
  readonly check: () => boolean;
  readonly fail: (reason: string) => void;
}

/** @param describe what a failed wait says of the state it saw. */
export function createConditions<View>(
  view: () => View,
  describe: (view: View) => unknown,
): Conditions<View> {
  const waiters = new Set<Waiter>();
  return {
    changed() {
      for (const waiter of waiters) if (waiter.check()) waiters.delete(waiter);
    },
    async waitFor(condition, timeoutMs = 20_000) {
      if (waiters.size >= maxOpen) throw new Error(`more than ${maxOpen} conditions are awaited`);
      return await new Promise((resolve, reject) => {
        const fail = (reason: string): void => {
          clearTimeout(timer);
          reject(new Error(`condition not met, ${reason}: ${JSON.stringify(describe(view()))}`));
        };
        const check = (): boolean => {
          try {
            const value = condition(view());
            if (value === null || value === undefined || value === false) return false;
            resolve(value);
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
          clearTimeout(timer);
          return true;
        };
        const waiter = { check, fail };
        const timer = setTimeout(() => {
          waiters.delete(waiter);
          fail(`${timeoutMs} ms passed`);
        }, timeoutMs);
        if (!check()) waiters.add(waiter);
      });
    },
    close() {
      for (const waiter of waiters) waiter.fail('the server was closed');
      waiters.clear();
    },
  };
}
