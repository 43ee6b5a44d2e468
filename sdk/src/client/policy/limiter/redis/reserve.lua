-- Reserves slots for one API key. `schedule.rs` is the same for a single process, and explains the pools.
--
-- KEYS[1] is a string of doubles: a header, then for each place of the three pools the time from which it is free, in order,
-- then slots of the common places that were given back. One string, so that whoever loses a part of the state loses all of it,
-- which is noticed. Times are milliseconds of the server's clock, less a correction for its steps.
--
-- ARGV: window, limit, how long to send nothing if nobody was heard for a window (-1: the key is declared unused), until when an
-- answer is wanted (0: always), the time if the clock has stepped (else 0), the latest version that the process was told, how many
-- reports follow; reports (pool, slot, when it was used; 0: not at all), or (4, sent how long ago, 0), or (5, pause after a
-- 429, 0); questions (priority, longest wait).
--
-- Returns {status, time, first version of this state, version, closed for, last slot in, and for each question: pool (0: none),
-- wait, come back after}. Status: 1, the state was missing, or older than what the process knows; 2, nothing was done, since it came too late.
local call, key, floor, max, min = redis.call, KEYS[1], math.floor, math.max, math.min
local pack, read = struct.pack, struct.unpack
local window, limit, hold, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local stepped, seen, reports = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local span, near, lend = window + max(1, floor(window / 60)), floor(window / 12), floor(window / 2)
local function pool_sizes(limit)
  local read_backs = floor(limit / 12)
  local bulk = limit < 3 and 0 or max(1, read_backs)
  return {8 * read_backs, 8 * (limit - read_backs - bulk), 8 * bulk}
end
local sizes = pool_sizes(limit)
local kept, gap = 8 * floor(limit / 4) - sizes[1], floor(4 * span / (8 * limit - sizes[1]))
local HEADER, FORMAT = 72, '<ddddddddd'
local time, state = call('TIME'), call('GET', key)
local clock = time[1] * 1000 + floor(time[2] / 1000)
local last, skew, first, version, closed, pause, queue, latest, size =
  read(FORMAT, state or string.rep('\0', HEADER))

-- A clock that goes back stands still until it is corrected; one that leaps is contradicted by the process.
local now, status = max(last, clock - skew), 0
if state and wanted > 0 and now > wanted then
  if stepped == 0 then return {2, now, first, version, 0, 0} end
  now = max(last, stepped)
end
if not state or seen > version or seen > 0 and seen < first and closed < 0 then
  status, first = 1, max(seen, time[1] * 1000000 + time[2]) + 1
  version, closed = first, hold < 0 and -1 or max(closed, now + span + near)
elseif now - last > span and hold > 0 then
  closed = max(closed, now + hold)
end
local known = seen >= first

local pools, given_back, from = {}, '', HEADER
if state then
  for pool, bytes in ipairs(size == limit and sizes or pool_sizes(size)) do
    pools[pool], from = state:sub(from + 1, from + bytes), from + bytes
  end
  given_back = state:sub(from + 1)
end
if size ~= limit then
  -- New, or of another limit: places that are added count as taken, those that count for longest are kept.
  local added = pack('<d', state and now + span or 0)
  for pool = 1, 3 do
    local list = pools[pool] or ''
    pools[pool] = list:sub(max(1, #list - sizes[pool] + 1)) .. string.rep(added, (sizes[pool] - #list) / 8)
  end
end
local function at(list, index) return index < #list and read('<d', list, index + 1) or math.huge end
local function insert(list, value)
  local index = #list
  while index > 0 and read('<d', list, index - 7) > value do index = index - 8 end
  return list:sub(1, index) .. pack('<d', value) .. list:sub(index + 1)
end
local function replace(pool, value, other)
  local list, bytes, index = pools[pool], pack('<d', value), 1
  repeat
    index = list:find(bytes, index, true)
    if index and index % 8 == 1 then
      pools[pool] = insert(list:sub(1, index - 1) .. list:sub(index + 8), other)
      return
    end
    index = index and index + 1
  until not index
end
local function throttle(asked)
  if closed > now then
    closed = max(closed, now + asked)
    return
  end
  pause = pause > 0 and now - closed < span and min(window, 2 * pause) or near
  closed = now + (asked < 0 and pause or asked)
  local free, used, all_used = {0, 0, 0}, {0, 0, 0}, 0
  for pool, list in ipairs(pools) do
    for index = 0, #list - 8, 8 do
      local of = at(list, index) <= now and free or at(list, index) <= now + span and used or {}
      of[pool] = (of[pool] or 0) + 1
    end
    all_used = all_used + used[pool]
  end
  local at_least = max(0, max(1, floor(limit / 10)) - all_used)
  local stay_free = {0, at_least - math.ceil(at_least / 12), math.ceil(at_least / 12)}
  for pool, list in ipairs(pools) do
    -- All that is free, and a quarter of what is used.
    local closed = #list / 8 - free[pool] - used[pool]
    local close = max(0, free[pool] - stay_free[pool]) + floor(used[pool] / 4)
    for number = closed, closed + close - 1 do
      local free_at = max(at(list, 0), now) + span * (1 + floor(number * 80 / #list))
      list = insert(list:sub(9), free_at)
    end
    pools[pool] = list
  end
end
for i = 8, 7 + 3 * reports, 3 do
  local what, slot, used = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  if what == 5 then
    throttle(slot)
  elseif what == 4 then
    pools[2] = insert(pools[2]:sub(9), max(at(pools[2], 0), now - slot + span))
  elseif known and used > 0 then
    replace(what, slot + span, used + span)
  elseif known and what == 2 then
    given_back = insert(given_back, slot)
  elseif known then
    replace(what, slot + span, slot)
  end
end
while at(given_back, 0) <= now do
  -- Unless somebody has reserved its place for later.
  replace(2, at(given_back, 0) + span, at(given_back, 0))
  given_back = given_back:sub(9)
end

local answer = {status, now, first, version + 1, max(0, closed - now), 0}
for i = 8 + 3 * reports, #ARGV, 2 do
  local priority, longest = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local open = max(now, closed)
  local behind = queue > now and max(open, queue + gap) or open
  local pool, slot, wait, after, hole = 2, max(at(pools[2], 0), behind), span, 0, at(given_back, 0)
  if priority == 2 then
    local theirs, common = max(at(pools[3], 0), open), max(at(pools[2], kept), behind)
    wait, after = min(theirs, common) - now, max(1, min(theirs - lend - span, common - near) - now)
    slot, hole = common <= now + near and common or math.huge, math.huge
    if theirs <= now + lend + span and theirs <= slot then pool, slot = 3, theirs end
  elseif priority == 1 then
    local lent = slot > now and max(at(pools[3], 0), behind) or math.huge
    if lent < slot and lent <= now + lend then pool, slot = 3, lent end
  else
    slot = max(at(pools[2], 0), open)
    for _, other in ipairs({1, 3}) do
      local free_at = max(at(pools[other], 0), open)
      if free_at < slot or free_at == slot and other == 1 then pool, slot = other, free_at end
    end
  end
  if hole >= open and hole < slot then pool, slot = 2, hole else hole = nil end
  if slot == math.huge then
    pool, slot, after = 0, now + wait, after <= longest and after or 0
  elseif slot > now + longest then
    pool, after = 0, 0
  elseif hole then
    given_back, after = given_back:sub(9), 0
  else
    pools[pool], after = insert(pools[pool]:sub(9), slot + span), 0
    if priority == 1 then queue = slot end
  end
  if pool > 0 then latest = max(latest, slot) end
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = pool, slot - now, after
end
answer[6] = max(0, latest - now)
local header = pack(FORMAT, now, clock - now, first, version + 1, closed, pause, queue, latest, limit)
call('SET', key, header .. pools[1] .. pools[2] .. pools[3] .. given_back, 'PX', 2592000000)
return answer
