-- Keep a file that waits for its translation, if its tenant has room ('keep'); or only ask whether it has ('ask'); or keep an
-- existing file for longer ('stay'). May be repeated: of an existing file, it changes only the time to live.
--
-- KEYS  1 the file (hash)  2 the tenant's files (sorted set: ids by when they expire)
--       3 their bytes (hash by id; negative for a file that was fetched: it is still there, but no longer counts as a file)
-- ARGV  1 id  2 'ask', 'keep' or 'stay'  3 bytes  4 time to live in milliseconds  5 the longest time to live
--       6 most files  7 most bytes of all of them; only with 'keep': 8 description  9 content  10 memory
-- Returns 1 if it is kept, or may be; 0 if there are too many files; -2 if they are too large; -1 if it should exist and does not.
if redis.call('HGET', KEYS[1], 'status') == 'error' then return 1 end -- it has failed meanwhile, and takes no more room
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], 0, now, 'LIMIT', 0, 1000)
if #gone > 0 then
  redis.call('ZREM', KEYS[2], unpack(gone))
  redis.call('HDEL', KEYS[3], unpack(gone))
end
local own = redis.call('HGET', KEYS[3], ARGV[1])
if not own then
  local files, bytes, sizes = 0, tonumber(ARGV[3]), redis.call('HVALS', KEYS[3])
  if #sizes >= 10000 then return 0 end -- most of them fetched: to count more would take too long
  for _, size in ipairs(sizes) do
    if tonumber(size) > 0 then files = files + 1 end
    bytes = bytes + math.abs(size)
  end
  if files >= tonumber(ARGV[6]) then return 0 end
  if bytes > tonumber(ARGV[7]) then return -2 end
end
if ARGV[2] == 'ask' then return 1 end
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[2] == 'stay' then return -1 end
  redis.call('HSET', KEYS[1], 'file', ARGV[8], 'content', ARGV[9], 'memory', ARGV[10])
  redis.call('HSET', KEYS[1], 'status', 'queued', 'attempts', 0, 'sentences', 0)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  own = ARGV[3]
elseif own and tonumber(own) < 0 or redis.call('PTTL', KEYS[1]) > tonumber(ARGV[4]) then
  return 1
else
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], own or ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 1
