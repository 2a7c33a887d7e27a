/** What a turn will probably cost before it is known. Learned in `usage-learning.ts`. */
import type { ServiceClass } from '../../contracts/service-class.ts';

/** Before any reply. */
const firstOutputTokens = 256;

export interface Expectations {
  /** Mean tokens of a reply by class. */
  readonly outputTokens: Record<ServiceClass, number>;
}

export function createExpectations(): Expectations {
  return { outputTokens: { interactive: firstOutputTokens, batch: firstOutputTokens } };
}

/** At most what the request allows. */
export function expectedOutput(
  expectations: Expectations,
  { class: serviceClass, maxTokens }: { readonly class: ServiceClass; readonly maxTokens: number | null },
): number {
  return Math.min(expectations.outputTokens[serviceClass], maxTokens ?? Number.POSITIVE_INFINITY);
}
