-- Let a file that was read make room for others; it is there for a while, in case the answer was lost.
--
-- KEYS  1 the file (hash)  2 the tenant's files (sorted set)
-- ARGV  1 id  2 the while, in milliseconds
if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 and redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
