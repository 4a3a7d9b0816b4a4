-- Put a sentence at its position, or find it there. Idempotent: the same call again changes nothing but lease and time-to-live.
--
-- KEYS  1 session (hash)  2 entries (hash)  3 idempotency keys (hash)
-- ARGV  1 text  2 position, or ''  3 idempotency key, or ''  4 lease token  5 lease in milliseconds
-- Returns {status, position, next_position, model, answer or false, lease expiry in ms, preceding sources, oldest first}; the
-- status is 'ok', 'unknown', 'conflict', 'gap' or 'expired', and only 'ok' has all of them. A sentence with an answer
-- needs no lease and no preceding ones.
local session = redis.call('HMGET', KEYS[1], 'next', 'window', 'horizon', 'ttl', 'model')
if not session[1] then return {'unknown'} end
local next_position, window, horizon = tonumber(session[1]), tonumber(session[2]), tonumber(session[3])
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, session[4]) end

local text, position, key = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local known = key ~= '' and tonumber(redis.call('HGET', KEYS[3], key) or '')
if known and position and known ~= position then return {'conflict', position, next_position} end
position = known or position or next_position

local function write(field, at, value) redis.call('HSET', KEYS[2], field .. at, value) end

if position > next_position then return {'gap', position, next_position} end
if position < next_position then
  local source = entry('s', position)
  if not source then return {'expired', position, next_position} end
  if source ~= text then return {'conflict', position, next_position} end
else
  next_position = next_position + 1
  write('s', position, text)
  redis.call('HSET', KEYS[1], 'next', next_position)
  if key ~= '' then
    write('k', position, key)
    redis.call('HSET', KEYS[3], key, position)
  end
  for _, name in ipairs({KEYS[2], KEYS[3]}) do redis.call('EXPIRE', name, session[4]) end
end

local answer = entry('a', position)
local expiry = 0
if not answer then
  local now = redis.call('TIME')
  expiry = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(ARGV[5])
  write('l', position, ARGV[4] .. ':' .. string.format('%.0f', expiry))
end

-- What has just grown too old to be retried goes, unless an unfinished sentence after it still needs it as context.
local old = next_position - horizon - 1
if old >= 0 then forget_unless_needed(old, window, next_position) end

local preceding = {}
if not answer then
  for before = math.max(0, position - window), position - 1 do preceding[#preceding + 1] = entry('s', before) end
end
return {'ok', position, next_position, session[5], answer, expiry, preceding}
