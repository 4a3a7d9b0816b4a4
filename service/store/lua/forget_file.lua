-- No longer count a fetched file among those that its tenant may have; it stays for a while, in case the response was lost.
--
-- KEYS  1 the file (hash)  2 the tenant's files (sorted set)  3 their bytes (hash)
-- ARGV  1 id  2 how long it stays, in milliseconds
local bytes = redis.call('HGET', KEYS[3], ARGV[1])
if not bytes or tonumber(bytes) < 0 then return end
-- First a write that changes nothing, since a full Redis refuses what follows unless something was written before. Deleting the
-- size would do, but the hash and its time-to-live would disappear with the last one.
redis.call('HDEL', KEYS[3], '')
redis.call('HSET', KEYS[3], ARGV[1], -bytes)
if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then
  local time = redis.call('TIME')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
end
