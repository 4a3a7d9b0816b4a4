-- Keep a glossary, unless its tenant has as many as it may keep. May be repeated: nobody else uses its id.
--
-- KEYS  1 the description of each glossary (hash)  2 the terms of each (hash)
-- ARGV  1 id  2 description  3 terms  4 most glossaries
-- Returns 1 if it is kept, else 0.
local kept = redis.call('HGETALL', KEYS[1])
if not redis.call('HGET', KEYS[1], ARGV[1]) and #kept / 2 >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
