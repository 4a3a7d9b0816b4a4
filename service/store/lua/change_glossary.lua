-- Change a glossary, unless somebody else has changed it since it was read. May be repeated: a change that is done stays done.
--
-- KEYS  1 the description of each glossary (hash)  2 the terms of each (hash)
-- ARGV  1 id  2 its description and 3 its terms, as they were read  4 its new description and 5 its new terms
-- Returns 1 if it is changed, else 0.
local known = redis.call('HGET', KEYS[1], ARGV[1])
local terms = redis.call('HGET', KEYS[2], ARGV[1])
if known == ARGV[4] and terms == ARGV[5] then return 1 end
if known ~= ARGV[2] or terms ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[5])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
return 1
