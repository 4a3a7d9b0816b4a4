-- Change a glossary, unless somebody else has since it was read. It may be repeated: what is changed already stays so.
--
-- KEYS  1 what there is to know of each glossary (hash)  2 the terms of each (hash)
-- ARGV  1 id  2 what there was to know, 3 and its terms, as they were read  4 what there is to know now, 5 and its terms
-- Returns 1 if it is changed.
local known = redis.call('HGET', KEYS[1], ARGV[1])
local terms = redis.call('HGET', KEYS[2], ARGV[1])
if known == ARGV[4] and terms == ARGV[5] then return 1 end
if known ~= ARGV[2] or terms ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[5])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
return 1
