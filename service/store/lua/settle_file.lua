-- Let go of a file, with what has become of it. Who lost it meanwhile changes nothing. It may be repeated.
--
-- KEYS  1 the file (hash)  2 its lease
-- ARGV  1 token  2 status: 'done', 'error', or 'queued' where another one is to try
--       3 the translation, or what was wrong  4 1 where this was no attempt
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] or redis.call('HGET', KEYS[1], 'status') ~= 'translating' then return end
redis.call('HSET', KEYS[1], 'status', ARGV[2], 'result', ARGV[3])
if ARGV[4] == '1' then redis.call('HINCRBY', KEYS[1], 'attempts', -1) end
if ARGV[2] ~= 'queued' then redis.call('HDEL', KEYS[1], 'content') end
redis.call('DEL', KEYS[2])
