-- Begin a session under an id that is new.
--
-- KEYS  1 session  2 entries  3 idempotency keys      ARGV  field, value, ... of the session, `ttl` in seconds among them
redis.call('HSET', KEYS[1], unpack(ARGV))
redis.call('EXPIRE', KEYS[1], redis.call('HGET', KEYS[1], 'ttl'))
