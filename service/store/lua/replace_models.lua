-- Replace the models that are to be served, unless somebody else has done so since version ARGV[1] was read ("" for none).
-- ARGV[2] is the new version, which nobody else writes, so the script may be repeated; ARGV[3] the models. Returns 1 if done.
local found = redis.call("HGET", KEYS[1], "version") or ""
if found == ARGV[2] then
  return 1
end
if found ~= ARGV[1] then
  return 0
end
redis.call("HSET", KEYS[1], "version", ARGV[2], "models", ARGV[3])
return 1
