-- Look at a sentence that has been appended, and take its lease if nobody else has it.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 text  3 lease token  4 lease in milliseconds
-- Returns what `claim` returns; {'unknown'} if the session is gone; what `displaced` returns if the sentence is gone;
-- {'failed', position, next position} if it could not be translated and nobody has sent it again.
local session = open_session()
if not session then return {'unknown'} end

local position = tonumber(ARGV[1])
local gone = displaced(position, ARGV[2], session)
if gone then return gone end
if entry('f', position) then return {'failed', position, session.next} end
return claim(position, session, ARGV[3], ARGV[4])
