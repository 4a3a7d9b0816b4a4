-- Release a file, with the result of the attempt. A caller that has lost the lease meanwhile changes nothing. May be repeated.
--
-- KEYS  1 the file (hash)  2 its lease  3 the bytes of its tenant's files (hash)
-- ARGV  1 token  2 status: 'done', 'error', or 'queued' for another replica to try
--       3 the translation, or what was wrong  4 1 if this does not count as an attempt  5 id
--       6 of how many sentences the model is unsure
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] or redis.call('HGET', KEYS[1], 'status') ~= 'translating' then return end
redis.call('DEL', KEYS[2]) -- first, since a Redis that is full refuses what follows, unless something was written before
if ARGV[2] ~= 'queued' then redis.call('HDEL', KEYS[1], 'content', 'memory') end
if ARGV[2] == 'error' then redis.call('HDEL', KEYS[3], ARGV[5]) end
redis.call('HSET', KEYS[1], 'status', ARGV[2], 'result', ARGV[3], 'unsure', ARGV[6])
if ARGV[4] == '1' then redis.call('HINCRBY', KEYS[1], 'attempts', -1) end
