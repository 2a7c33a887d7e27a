/**
 * Which request fails and how: faults that a test ordered for the next requests, then those that the
 * request's own directives name. How often a directive's fault has happened is counted per conversation
 * and turn, bounded; the oldest count is forgotten first.
 */
import type { Fault } from './core/directives.ts';
import type { RequestRecord } from './request-log.ts';

export interface FaultPlan {
  /** The next `times` requests for which `match` holds fail with `fault`. */
  order(fault: Fault, times: number, match: (record: RequestRecord) => boolean): void;
  clear(): void;
  /** The fault for this request; null: it is served. */
  choose(record: RequestRecord, directed: readonly Fault[], turn: number, conversation: string): Fault | null;
}

const maxOrders = 1_000;
const maxCounts = 10_000;

export function createFaultPlan(): FaultPlan {
  const orders: { fault: Fault; left: number; match: (record: RequestRecord) => boolean }[] = [];
  const counts = new Map<string, number>();

  const isDue = (fault: Fault, index: number, turn: number, conversation: string): boolean => {
    if (fault.turn !== undefined && fault.turn !== turn) return false;
    if (fault.times === undefined) return true;
    const key = `${conversation} ${turn} ${index}`;
    const count = counts.get(key) ?? 0;
    if (count >= fault.times) return false;
    counts.delete(key);
    counts.set(key, count + 1);
    const [oldest] = counts.keys();
    if (counts.size > maxCounts && oldest !== undefined) counts.delete(oldest);
    return true;
  };
  return {
    order(fault, times, match) {
      if (orders.length >= maxOrders) throw new Error(`more than ${maxOrders} faults are ordered`);
      orders.push({ fault, left: times, match });
    },
    clear() {
      orders.length = 0;
    },
    choose(record, directed, turn, conversation) {
      const index = orders.findIndex(({ match }) => match(record));
      const order = orders[index];
      if (order !== undefined) {
        order.left -= 1;
        if (order.left <= 0) orders.splice(index, 1);
        return order.fault;
      }
      return directed.find((fault, position) => isDue(fault, position, turn, conversation)) ?? null;
    },
  };
}
