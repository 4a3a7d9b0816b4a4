-- Look at a sentence that has been appended, and have its lease where nobody else has it.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 lease token  3 lease in milliseconds
-- Returns what `claim` returns; {'unknown'} where the session is gone, {'expired' or 'failed', position, next position}
-- where the sentence is, or where it could not be translated and nobody has sent it again.
local session = open_session()
if not session then return {'unknown'} end

local position = tonumber(ARGV[1])
if not entry('s', position) then return {'expired', position, session.next} end
if entry('f', position) then return {'failed', position, session.next} end
return claim(position, session, ARGV[2], ARGV[3])
