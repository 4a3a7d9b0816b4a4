-- Renew the lease of a file, and record how much of it is translated.
--
-- KEYS  1 the file (hash)  2 its lease
-- ARGV  1 token  2 lease in milliseconds  3 number of sentences translated  4 of how many of them the model is unsure
-- Returns 1; 0 if the file has expired or somebody else has it. A lease that ran out while Redis was away is taken again.
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] or redis.call('HGET', KEYS[1], 'status') ~= 'translating' then return 0 end
redis.call('DEL', KEYS[2]) -- first, since a Redis that is full refuses what follows, unless something was written before
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
redis.call('HSET', KEYS[1], 'sentences', ARGV[3], 'unsure', ARGV[4])
return 1
