-- One step of a guard, on the key of one delivery.
-- ARGV: the step, the fence, the lease and the retention in milliseconds.
local key, step, fence = KEYS[1], ARGV[1], ARGV[2]
local lease, retention = tonumber(ARGV[3]), tonumber(ARGV[4])
local state, held, outlives = string.match(redis.call('GET', key) or '', '^(%a+) (%d+) (%d+)$')

local function set(next, number, life)
  redis.call('SET', key, next .. ' ' .. number .. ' ' .. string.format('%.0f', retention), 'PX', string.format('%.0f', life))
end

if step == 'claim' then
  if state == 'done' then return -1 end
  if state == 'claimed' and redis.call('PTTL', key) > tonumber(outlives) then return 0 end
  local time = redis.call('TIME')
  local next = math.max(time[1] * 1000000 + time[2], (held or 0) + 1)
  set('claimed', string.format('%.0f', next), lease + retention)
  -- Less than zero where an earlier claim had run out. A fence is far from 0 and 1.
  return next * (state == 'claimed' and -1 or 1)
elseif step == 'forget' then
  if state ~= 'done' then return 0 end
  set('free', held, retention)
  return 1
elseif held ~= fence then
  return 0
elseif step == 'commit' and (state == 'claimed' or state == 'done') then
  if state == 'claimed' then set('done', held, retention) end
  return 1
elseif state ~= 'claimed' then
  return 0
elseif step == 'renew' then
  set('claimed', held, lease + retention)
  return 1
elseif step == 'release' then
  set('free', held, retention)
  return 1
end
return 0
