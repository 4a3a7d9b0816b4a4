-- Admit a request of one key: spend sentences of its sliding minute and take one of its places, or do neither.
--
-- KEYS  1 spent (list, oldest first: 'milliseconds sentences sum', the sum up to and including this entry)
--       2 places (sorted set: token by the end of its lease in milliseconds)
-- ARGV  1 sentences per minute (0: no limit)  2 sentences to spend  3 places (0: none is taken)  4 token  5 lease in milliseconds
-- Returns {outcome, sentences left, milliseconds until more are left, or until enough are if the outcome is 'rate'};
-- the outcome is 'admitted', 'rate' or 'places'. A call that is repeated because its reply was lost finds its place
-- already taken, and spends nothing more; if it takes no place, it spends twice.
local window = 60000
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local limit, cost, places, lease = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[5])

local function entry(index)
  local found = redis.call('LINDEX', KEYS[1], index)
  if not found then return nil end
  local at, sentences, sum = string.match(found, '^(%d+) (%d+) (%d+)$')
  return tonumber(at), tonumber(sentences), tonumber(sum)
end

-- What was spent a minute ago or earlier no longer counts; nor does an entry of the future, left by a clock that has gone back.
local oldest, sentences, sum = entry(0)
while oldest and (oldest <= now - window or oldest > now) do
  redis.call('LPOP', KEYS[1])
  oldest, sentences, sum = entry(0)
end
local before, total = 0, 0
if oldest then
  before = sum - sentences
  total = select(3, entry(-1))
end
local spent = total - before

-- Milliseconds until at least `missing` sentences have left the minute; the last of their entries is found by bisection of the sums.
local function wait_for(missing)
  local low, high = 0, redis.call('LLEN', KEYS[1]) - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if select(3, entry(middle)) - before < missing then low = middle + 1 else high = middle end
  end
  return (entry(low)) + window - now
end

if places > 0 and redis.call('ZSCORE', KEYS[2], ARGV[4]) then cost = 0 end
if limit > 0 and cost > 0 and spent + cost > limit then
  return {'rate', math.max(0, limit - spent), wait_for(spent + cost - limit)}
end

if places > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '(' .. string.format('%.0f', now + lease), '+inf')  -- left by such a clock
  redis.call('ZADD', KEYS[2], now + lease, ARGV[4])
  if redis.call('ZCARD', KEYS[2]) > places then
    redis.call('ZREM', KEYS[2], ARGV[4])
    return {'places', math.max(0, limit - spent), 0}
  end
  redis.call('PEXPIRE', KEYS[2], lease)
end

if limit > 0 and cost > 0 then
  redis.call('RPUSH', KEYS[1], string.format('%.0f %.0f %.0f', now, cost, total + cost))
  redis.call('PEXPIRE', KEYS[1], window)
  oldest = oldest or now
end
return {'admitted', math.max(0, limit - spent - cost), oldest and oldest + window - now or 0}
