-- Give back a sentence that has not been translated, if the caller still has its lease: the last one, for which nobody
-- else asks, is taken out of the session; of any other one only the lease is given back.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens      ARGV  1 position  2 lease token  3 why it failed, or ''
-- Returns 1 if the sentence was taken out, else 0.
local position = tonumber(ARGV[1])
local session = read_session()
if not session or lease_of(position) ~= ARGV[2] then return 0 end

if session.next == position + 1 and not entry('w', position) then
  redis.call('HDEL', KEYS[3], entry('k', position))
  redis.call('HDEL', KEYS[2], 's' .. position, 'l' .. position, 'k' .. position)
  redis.call('HSET', KEYS[1], 'next', position)
  return 1
end
redis.call('HDEL', KEYS[2], 'l' .. position, 'w' .. position)
if ARGV[3] ~= '' then
  write('f', position, ARGV[3])
  forget_up_to(position, session)
end
return 0
