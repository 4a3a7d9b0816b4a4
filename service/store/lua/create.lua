-- Begin a session, or find the one that has this id, with its time-to-live set anew. What a lost one of this id has left goes: a
-- Redis that evicts may forget its hash and keep the sentences, and the new one's would find their translations.
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
