-- Begin a session, or find the one that has this id and renew its time-to-live. Whatever is left of a lost session of this id is
-- deleted: a Redis that evicts keys may have dropped its hash only, and the new sentences would get the old ones' translations.
--
-- KEYS  1 session  2 entries  3 idempotency keys      ARGV  field, value, ... of the session, `ttl` in seconds among them
-- Returns the session as field, value, ...
if not redis.call('HGET', KEYS[1], 'ttl') then
  redis.call('HSET', KEYS[1], unpack(ARGV))
  redis.call('DEL', KEYS[2], KEYS[3])
end
local ttl = redis.call('HGET', KEYS[1], 'ttl')
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ttl) end
return redis.call('HGETALL', KEYS[1])
