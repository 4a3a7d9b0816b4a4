-- Delete a file. May be repeated.
--
-- KEYS  1 the file (hash)  2 its lease  3 the tenant's files (sorted set)  4 their bytes (hash)
-- ARGV  1 id
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
