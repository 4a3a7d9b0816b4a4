-- Take back the last sentence of a session, if it has no answer and nobody else has taken it up since.
--
-- KEYS  1 session  2 entries  3 idempotency keys      ARGV  1 position  2 lease token
-- Returns 1 if it was taken back, else 0.
local next_position = tonumber(redis.call('HGET', KEYS[1], 'next') or '')
local position = tonumber(ARGV[1])
if not next_position or position ~= next_position - 1 then return 0 end

local lease = redis.call('HGET', KEYS[2], 'l' .. position)
if not lease or string.sub(lease, 1, #ARGV[2] + 1) ~= ARGV[2] .. ':' then return 0 end

local key = redis.call('HGET', KEYS[2], 'k' .. position)
if key then redis.call('HDEL', KEYS[3], key) end
redis.call('HDEL', KEYS[2], 's' .. position, 'l' .. position, 'k' .. position)
redis.call('HSET', KEYS[1], 'next', position)
return 1
