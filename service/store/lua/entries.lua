-- Prepended to each script that reads entries.
--
-- Fields of the hash KEYS[2]: s<position> source, a<position> answer, l<position> lease as 'token:expiry in milliseconds',
-- w<position> tokens of the callers that ask for the sentence without having its lease, f<position> why it could not be
-- translated, k<position> its field in the hash KEYS[3]: 'key:...' of a client, or 'token:...' of the call that appended it.
local function entry(field, position) return redis.call('HGET', KEYS[2], field .. position) end
local function write(field, position, value) redis.call('HSET', KEYS[2], field .. position, value) end

-- Next position, window, horizon and time-to-live of the session; nil if there is none.
local function read_session()
  local session = redis.call('HMGET', KEYS[1], 'next', 'window', 'horizon', 'ttl')
  if not session[1] then return nil end
  return {
    next = tonumber(session[1]), window = tonumber(session[2]), horizon = tonumber(session[3]), ttl = session[4]
  }
end

-- The same, after renewing its time-to-live.
local function open_session()
  local session = read_session()
  if not session then return nil end
  -- A Redis that is out of memory refuses only the first write of a script, and never EXPIRE: hence this one, which changes nothing.
  redis.call('HSET', KEYS[1], 'ttl', session.ttl)
  for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, session.ttl) end
  return session
end

-- The refusal if the sentence that the caller has put at a position is not there any more; nil if it is. Redis may lose its latest
-- writes: then the session's next position is not beyond this one any more, or another sentence has been put there since.
local function displaced(position, text, session)
  if position >= session.next then return {'lost', position, session.next} end
  local source = entry('s', position)
  if not source then return {'expired', position, session.next} end
  return source ~= text and {'conflict', position, session.next} or nil
end

local function lease_of(position)
  local token, expiry = string.match(entry('l', position) or '', '^(.*):(%d+)$')
  return token, tonumber(expiry)
end

-- A client's key is kept for its retries; the token of a call only while the call is under way.
local function forget_token(position)
  local key = entry('k', position)
  if key and string.sub(key, 1, 6) == 'token:' then
    redis.call('HDEL', KEYS[3], key)
    redis.call('HDEL', KEYS[2], 'k' .. position)
  end
end

-- Whether an entry needs itself and those in its window to be kept. One without an answer does, unless it has failed and is beyond
-- the horizon, where it cannot be retried any more.
local function is_needed(position, session)
  if not entry('s', position) or entry('a', position) then return false end
  return position >= session.next - session.horizon or not entry('f', position)
end

local function forget_unless_needed(old, session)
  for later = old, math.min(old + session.window, session.next - 1) do
    if is_needed(later, session) then return end
  end
  forget_token(old)
  redis.call('HDEL', KEYS[2], 's' .. old, 'a' .. old, 'k' .. old, 'f' .. old)
end

-- Forget what is not needed once the sentence at a position is done: itself and its window, where they are beyond the horizon.
local function forget_up_to(position, session)
  for old = math.max(0, position - session.window), math.min(position, session.next - session.horizon - 1) do
    forget_unless_needed(old, session)
  end
end

-- A sentence as its caller sees it: {'ok', position, source, next position, answer or false, milliseconds for which another has the
-- lease, the session as field, value, ..., preceding as source, answer or false, ..., oldest first}; the last two are empty unless
-- the caller has the lease. The caller gets a lease that nobody has, that has run out, or that lasts longer than leases can, as
-- after a clock has gone back.
local function claim(position, session, token, milliseconds)
  local answer = entry('a', position)
  local wait, of_session, preceding = 0, {}, {}
  if not answer then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local holder, expiry = lease_of(position)
    local longest = math.max(60000, tonumber(milliseconds))
    if holder and holder ~= token and expiry > now and expiry <= now + longest then
      wait = expiry - now
      local asking = entry('w', position) or ''
      if not string.find(asking, ' ' .. token .. ' ', 1, true) then write('w', position, asking .. ' ' .. token .. ' ') end
    else
      if holder ~= token then redis.call('HDEL', KEYS[2], 'w' .. position) end
      write('l', position, token .. ':' .. string.format('%.0f', now + tonumber(milliseconds)))
      for before = math.max(0, position - session.window), position - 1 do
        preceding[#preceding + 1] = entry('s', before)
        preceding[#preceding + 1] = entry('a', before)
      end
      of_session = redis.call('HGETALL', KEYS[1])
    end
  end
  return {'ok', position, entry('s', position), session.next, answer, wait, of_session, preceding}
end

-- Clean up what is not needed once a sentence has its answer.
local function settle(position, session)
  forget_token(position)
  redis.call('HDEL', KEYS[2], 'l' .. position, 'w' .. position, 'f' .. position)
  forget_up_to(position, session)
end

