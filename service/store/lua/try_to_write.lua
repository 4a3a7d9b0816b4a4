-- A write that changes nothing, since there is no such key: it is refused whenever other writes are.
--
-- KEYS  1 a key that never exists
redis.call('ZADD', KEYS[1], 'XX', 0, '')
