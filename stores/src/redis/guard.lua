-- One step of a guard, on the keys of one delivery: its mark, and its dead letter.
-- ARGV: the step, the fence, the lease and the retention in milliseconds; for `bury`, the fields of the dead letter.
-- The mark is the state, the fence, how long the key outlives its lease, and how many runs there were.
local mark, letter, step, fence = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local lease, retention = tonumber(ARGV[3]), tonumber(ARGV[4])
local state, held, outlives, runs = string.match(redis.call('GET', mark) or '', '^(%a+) (%d+) (%d+) ?(%d*)$')
runs = tonumber(runs) or 0
local is_claimed = state == 'claimed' and redis.call('PTTL', mark) > tonumber(outlives)

local function set(next, number, count, life)
  local value = string.format('%s %s %.0f %d', next, number, retention, count)
  redis.call('SET', mark, value, 'PX', string.format('%.0f', life))
end

local function now()
  local time = redis.call('TIME')
  return math.max(time[1] * 1000000 + time[2], (held or 0) + 1)
end

-- The code, the fence, the run, and whether an earlier claim had run out.
local function grant()
  local next = now()
  set('claimed', string.format('%.0f', next), runs + 1, lease + retention)
  return { 1, next, runs + 1, state == 'claimed' and 1 or 0 }
end

if step == 'claim' then
  if is_claimed then return { 0, 0, 0, 0 } end
  if state == 'done' then return { 2, 0, 0, 0 } end
  if redis.call('EXISTS', letter) == 1 then return { 3, 0, 0, 0 } end
  return grant()
elseif step == 'retry' then
  if is_claimed or redis.call('EXISTS', letter) == 0 then return { 0, 0, 0, 0 } end
  return grant()
elseif step == 'discard' then
  if is_claimed or redis.call('DEL', letter) == 0 then return { 0, 0, 0, 0 } end
  set('done', held or string.format('%.0f', now()), 0, retention)
  return { 1, 1, 0, 0 }
elseif step == 'forget' then
  if state ~= 'done' then return { 0, 0, 0, 0 } end
  set('free', held, 0, retention)
  return { 1, 0, 0, 0 }
elseif held ~= fence then
  return { 0, 0, 0, 0 }
elseif step == 'commit' and (state == 'claimed' or state == 'done') then
  if state == 'claimed' then set('done', held, 0, retention) end
  -- With how many dead letters were removed.
  return { 1, redis.call('DEL', letter), 0, 0 }
elseif step == 'bury' and (state == 'claimed' or redis.call('EXISTS', letter) == 1) then
  redis.call('HSET', letter, unpack(ARGV, 5))
  set('free', held, runs, retention)
  return { 1, 0, 0, 0 }
elseif state ~= 'claimed' then
  return { 0, 0, 0, 0 }
elseif step == 'renew' then
  set('claimed', held, runs, lease + retention)
  return { 1, 0, 0, 0 }
elseif step == 'release' then
  set('free', held, runs, retention)
  return { 1, 0, 0, 0 }
end
return { 0, 0, 0, 0 }
