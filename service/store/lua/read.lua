-- Everything that a session keeps. A Redis that takes no writes lets it be read, for as long as it was to be kept.
--
-- KEYS  1 session  2 entries  3 idempotency keys
-- Returns {session as field, value, ...; entries as field, value, ...}; both are empty where there is no session.
local session = redis.call('HGETALL', KEYS[1])
local ttl = redis.call('HGET', KEYS[1], 'ttl')
if ttl then
  for _, key in ipairs(KEYS) do redis.pcall('EXPIRE', key, ttl) end
end
return {session, redis.call('HGETALL', KEYS[2])}
