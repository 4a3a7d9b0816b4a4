-- Read everything that a session keeps, and renew its time-to-live. If Redis accepts no writes, the session can still be read until
-- its old time-to-live runs out.
--
-- KEYS  1 session  2 entries  3 idempotency keys
-- Returns {session as field, value, ...; entries as field, value, ...}; both are empty if there is no session.
local session = redis.call('HGETALL', KEYS[1])
local ttl = redis.call('HGET', KEYS[1], 'ttl')
if ttl then
  for _, key in ipairs(KEYS) do redis.pcall('EXPIRE', key, ttl) end
end
return {session, redis.call('HGETALL', KEYS[2])}
