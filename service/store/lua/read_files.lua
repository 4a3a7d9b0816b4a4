-- Say what has become of files.
--
-- KEYS  each file (hash)
-- Returns for each {what there is to know of it, status, sentences that are translated, when the last attempt began, what was wrong};
-- all but the last are nothing where it is gone.
local found = {}
for at, file in ipairs(KEYS) do
  local state = redis.call('HMGET', file, 'file', 'status', 'sentences', 'started')
  state[5] = state[2] == 'error' and redis.call('HGET', file, 'result') or '' -- else it may be a translation, which is large
  found[at] = state
end
return found
