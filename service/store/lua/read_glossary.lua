-- Read the description of a glossary and its terms, in one step so that they belong together.
--
-- KEYS  1 the description of each glossary (hash)  2 the terms of each (hash)
-- ARGV  1 id
return {redis.call('HGET', KEYS[1], ARGV[1]), redis.call('HGET', KEYS[2], ARGV[1])}
