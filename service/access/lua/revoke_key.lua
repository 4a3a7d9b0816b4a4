-- Forget a key; the version tells every replica to read the keys again.
--
-- KEYS  1 keys (hash: id -> record; version)
-- ARGV  1 id  2 version
-- Returns 1, or 0 where there is no such key. Idempotent: a repeated call sees by the version that it was done.
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
if removed == 1 then redis.call('HSET', KEYS[1], 'version', ARGV[2]) end
return redis.call('HGET', KEYS[1], 'version') == ARGV[2] and 1 or 0
