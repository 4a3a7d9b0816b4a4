-- Put a file at the end of the queue, unless it is in it already. May be repeated.
--
-- KEYS  1 the queue (sorted set: files by time of arrival, in seconds since 1970)      ARGV  1 the file
-- The time is by Redis's clock, as the clocks of the replicas need not agree, and the oldest file is the next one.
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], 'NX', string.format('%d.%06d', time[1], time[2]), ARGV[1])
