-- Read the states of files.
--
-- KEYS  each file (hash)
-- Returns for each {description, status, number of sentences translated, when the last attempt began, of how many the model is
-- unsure, what was wrong}; all but the last are nil if the file is gone.
local found = {}
for at, file in ipairs(KEYS) do
  local state = redis.call('HMGET', file, 'file', 'status', 'sentences', 'started', 'unsure')
  state[6] = state[2] == 'error' and redis.call('HGET', file, 'result') or '' -- else it may be a translation, which is large
  found[at] = state
end
return found
