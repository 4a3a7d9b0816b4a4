-- Store the answer of a sentence where none is, and return what is stored: the first one wins.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 text  3 answer
-- Returns {'ok', stored answer}; {'unknown'} where the session is gone, {'expired' or 'conflict', position, next position}
-- where the sentence is, or where another stands in its place: a Redis may lose what was last written, and who has lost the
-- lease may be answered late.
local session = open_session()
if not session then return {'unknown'} end

local position = tonumber(ARGV[1])
local source = entry('s', position)
if not source then return {'expired', position, session.next} end
if source ~= ARGV[2] then return {'conflict', position, session.next} end
redis.call('HSETNX', KEYS[2], 'a' .. position, ARGV[3])
local stored = entry('a', position)
settle(position, session)
return {'ok', stored}
