-- What there is to know of a glossary, and its terms, of the same moment.
--
-- KEYS  1 what there is to know of each glossary (hash)  2 the terms of each (hash)
-- ARGV  1 id
return {redis.call('HGET', KEYS[1], ARGV[1]), redis.call('HGET', KEYS[2], ARGV[1])}
