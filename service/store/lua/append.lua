-- Put a sentence at its position, or find it there. Idempotent: the same call, repeated, finds what it has put there.
--
-- KEYS  1 session (hash)  2 entries (hash)  3 idempotency keys and tokens (hash)
-- ARGV  1 text  2 position, or ''  3 idempotency key, or ''  4 lease token  5 lease in milliseconds  6 most sentences
--       7 most sentences a minute (0: any number)  8 least position that it may get if 2 is ''
--       9 1 if the call has put the sentence there before and has been waiting for its answer since, else 0
-- Returns what `claim` returns; {'failed', position, next position} if 9 is 1 and workers have died over the sentence;
-- {'unknown'} if there is no session, or only parts of it; {'conflict', 'gap', 'expired' or 'full', position,
-- next position} if the sentence cannot stand there; {'rate', position, milliseconds until it can} if it comes too soon.
local session = open_session()
if not session then return {'unknown'} end

-- Generic cell rate algorithm: `paced` is when the next sentence would be due at an even pace. One that is a whole minute's worth
-- of sentences ahead of that is too soon; returns by how many milliseconds. A `paced` more than a minute ahead comes from a clock
-- that has gone back since, as after a failover, and is ignored. A sentence that is taken out gives its share back.
local function pace(per_minute)
  if per_minute == 0 then return 0 end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local interval = 60000 / per_minute
  local paced = tonumber(redis.call('HGET', KEYS[1], 'paced') or 0)
  local due = paced > now + 60000 and now or math.max(now, paced)
  local wait = math.ceil(due + interval - now - 60000)
  if wait > 0 then return wait end
  redis.call('HSET', KEYS[1], 'paced', string.format('%.3f', due + interval))
  return 0
end

-- Whether all sentences that the one at a position needs as context are still kept.
local function has_context(position)
  for before = math.max(0, position - session.window), position - 1 do
    if not entry('s', before) then return false end
  end
  return true
end

local text, position, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[6])
local key = ARGV[3] ~= '' and 'key:' .. ARGV[3] or 'token:' .. ARGV[4]
local known = tonumber(redis.call('HGET', KEYS[3], key) or '')
if known and position and known ~= position then return {'conflict', position, session.next} end
position = known or position or math.max(session.next, tonumber(ARGV[8]))

if position > session.next then return {'gap', position, session.next} end
if position < session.next then
  local source = entry('s', position)
  if not source then return {'expired', position, session.next} end
  if source ~= text then return {'conflict', position, session.next} end
  -- A failed sentence may be kept as context of a later one, when its own context has been forgotten.
  if not entry('a', position) and not has_context(position) then return {'expired', position, session.next} end
  -- A sentence that kills workers would kill more for each caller that waits: it is only tried again if it is sent again.
  if ARGV[9] == '1' and entry('f', position) == 'worker_died' then return {'failed', position, session.next} end
  redis.call('HDEL', KEYS[2], 'f' .. position)
else
  if not has_context(position) then
    redis.call('DEL', unpack(KEYS)) -- a Redis that evicts has dropped its sentences: what is left is not a session
    return {'unknown'}
  end
  if position >= most then return {'full', position, session.next} end
  local wait = pace(tonumber(ARGV[7]))
  if wait > 0 then return {'rate', position, wait} end
  session.next = position + 1
  write('s', position, text)
  redis.call('HDEL', KEYS[2], 'a' .. position, 'l' .. position, 'w' .. position, 'f' .. position)
  write('k', position, key)
  redis.call('HSET', KEYS[3], key, position)
  redis.call('HSET', KEYS[1], 'next', session.next)
  for _, name in ipairs({KEYS[2], KEYS[3]}) do redis.call('EXPIRE', name, session.ttl) end
  -- Forget what has just grown too old to be retried, unless an unfinished sentence after it still needs it as context; a failed
  -- one needs nothing any more.
  local old = session.next - session.horizon - 1
  if entry('f', old) then forget_up_to(old, session) elseif old >= 0 then forget_unless_needed(old, session) end
end
return claim(position, session, ARGV[4], ARGV[5])
