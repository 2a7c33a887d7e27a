/** The arithmetic of `budget.ts` as one atomic step inside Redis, on Redis's own clock. */
import { maxUsedMinutes, minuteMs } from './budget.ts';

/**
 * KEYS[1]: a caller's budget. ARGV: its three limits (0: none), what must be there of each, what is added
 * to each; then 1 when all is to be refused unless what must be there is there. Replies with the index
 * of the limit that refuses (0: none), the wait in ms, and what is used of each, as texts.
 */
export const budgetScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local saved = redis.call('HMGET', KEYS[1], 'at', '1', '2', '3')
local elapsed = math.max(0, now - (tonumber(saved[1] or now)))
local used, refusedBy, wait = {}, 0, 0
for i = 1, 3 do
  local limit = tonumber(ARGV[i])
  local known = math.min(tonumber(saved[i + 1] or 0), limit * ${maxUsedMinutes})
  used[i] = math.max(0, known - elapsed * limit / ${minuteMs})
  if ARGV[10] == '1' and limit > 0 then
    local lacking = (used[i] + tonumber(ARGV[i + 3]) - limit) * ${minuteMs} / limit
    if lacking > wait then refusedBy, wait = i, lacking end
  end
end
if refusedBy == 0 then
  local expiry = 1000
  for i = 1, 3 do
    local limit = tonumber(ARGV[i])
    used[i] = math.min(limit * ${maxUsedMinutes}, math.max(0, used[i] + tonumber(ARGV[i + 6])))
    if limit > 0 then expiry = math.max(expiry, math.ceil(used[i] * ${minuteMs} / limit) + 1000) end
  end
  redis.call('HSET', KEYS[1], 'at', string.format('%.3f', now),
    '1', string.format('%.6f', used[1]), '2', string.format('%.6f', used[2]), '3', string.format('%.6f', used[3]))
  redis.call('PEXPIRE', KEYS[1], expiry)
end
return {tostring(refusedBy), string.format('%.3f', wait),
  string.format('%.6f', used[1]), string.format('%.6f', used[2]), string.format('%.6f', used[3])}
`;
