-- Give back a sentence that has not been translated, if the caller still has its lease; or stop asking for it. If it is the last
-- one and nobody asks for it now, it is taken out of the session; otherwise only its lease is given back.
--
-- KEYS  1 session  2 entries  3 idempotency keys and tokens
-- ARGV  1 position  2 lease token  3 why it failed, or ''  4 most sentences a minute (0: any number)
-- Returns 1 if the sentence was taken out, else 0.
local position = tonumber(ARGV[1])
local session = read_session()
if not session then return 0 end

-- Whether the caller was asking for a sentence that another had the lease of, and nobody has the lease now. Stops asking.
local function was_left_to_wait()
  local asking, token = entry('w', position) or '', ' ' .. ARGV[2] .. ' '
  local first, last = string.find(asking, token, 1, true)
  if not first then return false end
  local others = string.sub(asking, 1, first - 1) .. string.sub(asking, last + 1)
  if others == '' then redis.call('HDEL', KEYS[2], 'w' .. position) else write('w', position, others) end
  return not entry('l', position)
end

-- Only sentences that stay count: otherwise a caller that is told to repeat one that was taken out would pay for it twice.
local function give_share_back(per_minute)
  local paced = tonumber(redis.call('HGET', KEYS[1], 'paced') or '')
  if paced and per_minute > 0 then
    redis.call('HSET', KEYS[1], 'paced', string.format('%.3f', paced - 60000 / per_minute))
  end
end

if lease_of(position) ~= ARGV[2] and not was_left_to_wait() then return 0 end

if session.next == position + 1 and not entry('w', position) then
  redis.call('HDEL', KEYS[3], entry('k', position))
  redis.call('HDEL', KEYS[2], 's' .. position, 'l' .. position, 'k' .. position)
  redis.call('HSET', KEYS[1], 'next', position)
  give_share_back(tonumber(ARGV[4]))
  return 1
end
redis.call('HDEL', KEYS[2], 'l' .. position)
if ARGV[3] ~= '' then
  redis.call('HDEL', KEYS[2], 'w' .. position)
  write('f', position, ARGV[3])
  forget_up_to(position, session)
end
return 0
