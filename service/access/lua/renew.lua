-- Hold a place for longer; one that was lost in an outage is taken again.
--
-- KEYS  1 places      ARGV  1 token  2 lease in milliseconds
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now) -- first, since a Redis that is full refuses to add anything before a write
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
