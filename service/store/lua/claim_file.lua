-- Take a file, unless somebody else has it. May be repeated with the same token.
--
-- KEYS  1 the file (hash)  2 its lease
-- ARGV  1 token  2 lease in milliseconds
-- Returns {description, content, memory, number of this attempt, why the last one failed}; 0 if somebody else has it; -1 if
-- there is nothing to do.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'translating' then return -1 end
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return 0 end
local file = redis.call('HMGET', KEYS[1], 'file', 'content', 'memory', 'result') -- read only now, since they may be large
redis.call('DEL', KEYS[2]) -- first, since a Redis that is full refuses what follows, unless something was written before
if not holder then redis.call('HINCRBY', KEYS[1], 'attempts', 1) end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
redis.call('HSET', KEYS[1], 'status', 'translating', 'sentences', 0, 'unsure', '', 'started', redis.call('TIME')[1])
return {file[1], file[2], file[3] or '', tonumber(redis.call('HGET', KEYS[1], 'attempts')), file[4] or ''}
