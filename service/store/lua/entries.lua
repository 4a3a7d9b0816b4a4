-- Put before each script that reads entries.
--
-- Fields of the hash KEYS[2]: s<position> source, a<position> answer, l<position> lease as 'token:expiry in milliseconds',
-- k<position> idempotency key.
local function entry(field, position) return redis.call('HGET', KEYS[2], field .. position) end

-- An entry that has no answer needs itself, and those in its window.
local function forget_unless_needed(old, window, next_position)
  for later = old, math.min(old + window, next_position - 1) do
    if entry('s', later) and not entry('a', later) then return end
  end
  redis.call('HDEL', KEYS[2], 's' .. old, 'a' .. old, 'l' .. old, 'k' .. old)
end

