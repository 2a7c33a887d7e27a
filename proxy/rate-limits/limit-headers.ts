/** `x-ratelimit-*` headers as OpenAI writes them, for each limit that a caller has. Pure. */
import type { RateLimits } from '../../contracts/config-file.ts';
import { limitNames, minuteMs, type Amounts, type LimitName } from './budget.ts';

/** OpenAI knows no limits of input and output apart; the names go on from its own. */
const headerUnits: Readonly<Record<LimitName, string>> = {
  requestsPerMinute: 'requests',
  inputTokensPerMinute: 'input-tokens',
  outputTokensPerMinute: 'output-tokens',
};

/** @returns name, value, name, value, … */
export function limitHeaders(limits: RateLimits, used: Amounts): string[] {
  return limitNames.flatMap((name) => {
    const limit = limits[name];
    if (limit === undefined) return [];
    const unit = headerUnits[name];
    const resetMs = (used[name] * minuteMs) / limit;
    return [
      `x-ratelimit-limit-${unit}`,
      String(limit),
      `x-ratelimit-remaining-${unit}`,
      String(Math.max(0, Math.floor(limit - used[name]))),
      `x-ratelimit-reset-${unit}`,
      durationText(resetMs),
    ];
  });
}

/** Such as `6m0s`, `1.5s` or `120ms`. */
function durationText(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / minuteMs);
  const seconds = `${(whole - minutes * minuteMs) / 1_000}s`;
  return minutes === 0 ? seconds : `${minutes}m${seconds}`;
}
