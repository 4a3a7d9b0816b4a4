-- Store the answer of a sentence, in place of any other.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 answer
-- Returns {'ok', source}; {'unknown'} if there is no session; {'absent' or 'expired', position, next position} if
-- there is no such sentence yet, or no longer.
local session = open_session()
if not session then return {'unknown'} end

local position = tonumber(ARGV[1])
if position >= session.next then return {'absent', position, session.next} end
local source = entry('s', position)
if not source then return {'expired', position, session.next} end
write('a', position, ARGV[2])
settle(position, session)
return {'ok', source}
