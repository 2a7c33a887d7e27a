/** The limits of the configuration's callers, as the proxies are told of them. Pure. */
import { rateLimitsSchema, type Callers, type RateLimits } from '../../contracts/config-file.ts';

const limitsSchema = rateLimitsSchema.strip();

/** Callers without any limit are left out, and with them what is the scheduler's own. */
export function rateLimitsOf(callers: Callers): Record<string, RateLimits> {
  const limits = Object.entries(callers).map(([caller, config]) => [caller, limitsSchema.parse(config)]);
  return Object.fromEntries(limits.filter(([, given]) => Object.keys(given as object).length > 0));
}
