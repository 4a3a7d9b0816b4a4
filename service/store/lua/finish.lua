-- Store the answer of a sentence where none is, and return what is stored: the first one wins.
--
-- KEYS  1 session  2 entries  3 idempotency keys      ARGV  1 position  2 answer
-- Returns {'ok', stored answer}; {'unknown'} where the session is gone, {'expired', position, next_position} where the sentence is.
local session = redis.call('HMGET', KEYS[1], 'next', 'window', 'horizon', 'ttl')
if not session[1] then return {'unknown'} end
local next_position, window, horizon = tonumber(session[1]), tonumber(session[2]), tonumber(session[3])
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, session[4]) end

local position = tonumber(ARGV[1])
if not entry('s', position) then return {'expired', position, next_position} end
redis.call('HSETNX', KEYS[2], 'a' .. position, ARGV[2])
redis.call('HDEL', KEYS[2], 'l' .. position)
local stored = entry('a', position)

-- Entries beyond the horizon were kept only while this one, or another one near, was unfinished.
for old = math.max(0, position - window), math.min(position, next_position - horizon - 1) do
  forget_unless_needed(old, window, next_position)
end
return {'ok', stored}
