/** What driving one client comes to. */
import type { Bar } from '../../bench/bars.ts';
import type { Ended } from './bounded-process.ts';

export interface ClientResult {
  readonly bars: readonly Bar[];
  readonly ended: readonly Ended[];
  /** What the scripted model saw, for the report and for whoever must find a fault. */
  readonly seen: Readonly<Record<string, unknown>>;
  /** Lines to print whatever the bars say. */
  readonly report?: readonly string[];
}
