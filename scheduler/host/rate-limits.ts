/** The limits of the configuration's callers, as the proxies are told of them. Pure. */
import { everyCaller, rateLimitsSchema, type Callers, type RateLimits } from '../../contracts/config-file.ts';

const limitsSchema = rateLimitsSchema.strip();

/**
 * What is the scheduler's own is left out, and callers without any limit, unless there are limits for everyone:
 * an entry of its own frees a caller of those.
 */
export function rateLimitsOf(callers: Callers): Record<string, RateLimits> {
  const limits: Record<string, RateLimits> = Object.fromEntries(
    Object.entries(callers).map(([caller, config]) => [caller, limitsSchema.parse(config)]),
  );
  const all = Object.entries(limits);
  return Object.hasOwn(limits, everyCaller)
    ? limits
    : Object.fromEntries(all.filter(([, given]) => Object.keys(given).length > 0));
}
