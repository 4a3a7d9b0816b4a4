-- A write that changes nothing, since there is no such key: it is refused where every other one is, too.
--
-- KEYS  1 a key that is never there
redis.call('ZADD', KEYS[1], 'XX', 0, '')
