-- Keep a file that waits for its translation, unless its tenant has as many as it may have; or keep one that is there for longer. It
-- may be repeated.
--
-- KEYS  1 the file (hash)  2 the tenant's files (sorted set: ids by when they expire)
-- ARGV  1 id  2 what there is to know of it, or '' if it is there  3 content  4 time to live in milliseconds  5 the longest one  6 most files
-- Returns 1 if it is kept; 0 where there is no room; -1 where it should be there and is not.
if redis.call('HGET', KEYS[1], 'status') == 'error' then return 1 end -- meanwhile, and it takes no more room
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, now)
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then return 0 end
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[2] == '' then return -1 end
  redis.call('HSET', KEYS[1], 'file', ARGV[2], 'content', ARGV[3], 'status', 'queued', 'attempts', 0, 'sentences', 0)
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
