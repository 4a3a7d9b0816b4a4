-- Store the answer of a sentence unless there is one, and return the stored one: the first one wins.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 text  3 answer  4 `born` of the session
-- Returns {'ok', stored answer}; {'unknown'} if the session is gone, even if another one has its id by now, whose sentences have
-- another context; what `displaced` returns if the sentence is gone: a caller that has lost the lease may come late with its answer.
local session = open_session()
if not session or (redis.call('HGET', KEYS[1], 'born') or '') ~= ARGV[4] then return {'unknown'} end

local position = tonumber(ARGV[1])
local gone = displaced(position, ARGV[2], session)
if gone then return gone end
redis.call('HSETNX', KEYS[2], 'a' .. position, ARGV[3])
local stored = entry('a', position)
settle(position, session)
return {'ok', stored}
