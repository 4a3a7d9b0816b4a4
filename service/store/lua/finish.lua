-- Store the answer of a sentence where none is, and return what is stored: the first one wins.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 answer
-- Returns {'ok', stored answer}; {'unknown'} where the session is gone, {'expired', position, next position} where the sentence is.
local session = open_session()
if not session then return {'unknown'} end

local position = tonumber(ARGV[1])
if not entry('s', position) then return {'expired', position, session.next} end
redis.call('HSETNX', KEYS[2], 'a' .. position, ARGV[2])
local stored = entry('a', position)
settle(position, session)
return {'ok', stored}
