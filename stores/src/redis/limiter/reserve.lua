-- Reserves slots for one API key. `schedule.rs` is the same for a single process, and explains the pools.
--
-- KEYS[1] is a string of doubles: a header with the sizes of the three pools, then for each of their places the time from which
-- it is free, in order, then slots of common places that were given back. One string, so that a store that loses a part of the
-- state loses all of it, which is noticed. Times are milliseconds of the server's clock, less a correction for its steps.
--
-- ARGV, all of them doubles: [1] `Rules::figures`, how long to send nothing if no process has called for a span (-1: the key is
-- declared unused), until when a reply is wanted (0: always), the time if the clock has stepped (else 0), the latest version
-- that the process has seen, the number of the first report; [2] questions (priority, longest wait); [3] reports (pool, slot, when it was used; 0: not at all), or
-- (4, sent how long ago, 0), or (5, the `Retry-After` of a 429; -1: none, 0), or zeros for one that no longer matters.
--
-- KEYS[2] is the number of the last report of the process. After a lost reply it sends its reports again, and those that were
-- carried out are skipped: a slot that is given back twice would be reserved twice.
--
-- Returns doubles: status, time, first version of this state, version, closed for, and for each question the pool (0: none), the
-- wait, and after which time to try again. Status: 1, the state was missing, or older than what the process
-- has seen; 2, nothing was done, since it came too late.
local key, call, read, pack, max, huge = KEYS[1], redis.call, struct.unpack, struct.pack, math.max, math.huge
local span, near, lend, gap, kept, common, bulk, read_backs, hold, wanted, stepped, seen, number =
  read('<ddddddddddddd', ARGV[1])
local time, state = call('TIME'), call('GET', key)
local micros = time[1] * 1000000 + time[2]
local clock = (micros - micros % 1000) / 1000
local last, skew, first, version, closed, pause, queue, size1, size2, size3 =
  read('<dddddddddd', state or string.rep('\0', 80))

-- A clock that goes back counts as standing still until it is corrected; a leap is detected by the process.
local now, status = max(last, clock - skew), 0
if state and wanted > 0 and now > wanted then
  if stepped == 0 then return pack('<ddddd', 2, now, first, version, 0) end
  now = max(last, stepped)
end
if not state or seen > version or seen > 0 and seen < first and closed < 0 then
  status, first = 1, max(seen, micros) + 1
  version, closed = first, hold < 0 and -1 or max(closed, now + span + near)
elseif hold > 0 and now - last > span then
  closed = max(closed, now + hold)
end

local pools, given_back = {'', '', ''}, ''
if state then
  local to1, to2 = 80 + size1, 80 + size1 + size2
  pools[1], pools[2], pools[3] = state:sub(81, to1), state:sub(to1 + 1, to2), state:sub(to2 + 1, to2 + size3)
  given_back = state:sub(to2 + size3 + 1)
end
if size1 ~= common or size3 ~= read_backs then
  -- New, or of another limit: places that are added count as taken, those that count for longest are kept.
  local added = pack('<d', state and now + span or 0)
  for pool, bytes in ipairs({common, bulk, read_backs}) do
    local list = pools[pool]
    pools[pool] = list:sub(max(1, #list - bytes + 1)) .. string.rep(added, (bytes - #list) / 8)
  end
end
local function at(list, index) return index < #list and read('<d', list, index + 1) or huge end
local function insert(list, value)
  local index = #list
  while index > 0 and read('<d', list, index - 7) > value do index = index - 8 end
  if index == #list then return list .. pack('<d', value) end
  return list:sub(1, index) .. pack('<d', value) .. list:sub(index + 1)
end
local function replace(pool, value, other)
  local list, index = pools[pool], 1
  repeat
    index = list:find(pack('<d', value), index, true)
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
  pause = pause > 0 and now - closed < span and math.min(span, 2 * pause) or near
  closed = now + (asked < 0 and pause or asked)
  local free, used, all_used = {0, 0, 0}, {0, 0, 0}, 0
  for pool, list in ipairs(pools) do
    for index = 0, #list - 8, 8 do
      local of = at(list, index) <= now and free or at(list, index) <= now + span and used or {}
      of[pool] = (of[pool] or 0) + 1
    end
    all_used = all_used + used[pool]
  end
  local at_least = max(0, max(1, math.floor((common + bulk + read_backs) / 80)) - all_used)
  local stay_free = {at_least - math.ceil(at_least / 12), math.ceil(at_least / 12), 0}
  for pool, list in ipairs(pools) do
    -- All that is free, and a quarter of what is used.
    local from = #list / 8 - free[pool] - used[pool]
    local to = from + max(0, free[pool] - stay_free[pool]) + math.floor(used[pool] / 4)
    for number = from, to - 1 do
      local free_at = max(at(list, 0), now) + span * (1 + math.floor(number * 80 / #list))
      list = insert(list:sub(9), free_at)
    end
    pools[pool] = list
  end
end

local reported = #ARGV[3] > 0 and tonumber(call('GET', KEYS[2]) or 0) or 0
for i = 1 + 24 * max(0, reported - number + 1), #ARGV[3], 24 do
  local what, slot, used = read('<ddd', ARGV[3], i)
  if what == 5 then
    throttle(slot)
  elseif what == 4 then
    pools[1] = insert(pools[1]:sub(9), max(at(pools[1], 0), now - slot + span))
  elseif what > 0 and seen >= first then
    if used == 0 and what == 1 then
      given_back = insert(given_back, slot)
    else
      replace(what, slot + span, used == 0 and slot or used + span)
    end
  end
end
if #ARGV[3] > 0 then call('SET', KEYS[2], number + #ARGV[3] / 24 - 1, 'PX', 2 * span) end
while at(given_back, 0) <= now do
  -- Unless its place was reserved for later.
  replace(1, at(given_back, 0) + span, at(given_back, 0))
  given_back = given_back:sub(9)
end
local answers = ''
for i = 1, #ARGV[2], 16 do
  local priority, longest = read('<dd', ARGV[2], i)
  local open = max(now, closed)
  local behind = queue > now and max(open, queue + gap) or open
  local pool, slot, wait, after, hole = 1, max(at(pools[1], 0), behind), span, 0, at(given_back, 0)
  if priority == 1 then
    local lent = slot > now and max(at(pools[2], 0), behind) or huge
    if lent < slot and lent <= now + lend then pool, slot = 2, lent end
  elseif priority == 2 then
    local own, shared = max(at(pools[2], 0), open), max(at(pools[1], kept), behind)
    wait, after = math.min(own, shared) - now, max(1, math.min(own - lend - span, shared - near) - now)
    slot, hole = shared <= now + near and shared or huge, huge
    if own <= now + lend + span and own <= slot then pool, slot = 2, own end
  else
    slot = max(at(pools[1], 0), open)
    for _, other in ipairs({2, 3}) do
      local free_at = max(at(pools[other], 0), open)
      if free_at < slot or free_at == slot and other == 3 then pool, slot = other, free_at end
    end
  end
  if hole >= open and hole < slot then pool, slot = 1, hole else hole = nil end
  if slot == huge then
    pool, slot, after = 0, now + wait, after <= longest and after or 0
  elseif slot > now + longest then
    pool, after = 0, 0
  elseif hole then
    given_back, after = given_back:sub(9), 0
  else
    pools[pool], after = insert(pools[pool]:sub(9), slot + span), 0
    if priority == 1 then queue = slot end
  end
  answers = answers .. pack('<ddd', pool, slot - now, after)
end
version = version + 1
local header = pack('<dddddddddd', now, clock - now, first, version, closed, pause, queue, common, bulk, read_backs)
local written = header .. pools[1] .. pools[2] .. pools[3] .. given_back
if state and #state == #written and now - last < 3600000 then
  call('SETRANGE', key, 0, written)
else
  call('SET', key, written, 'PX', 2592000000)
end
return pack('<ddddd', status, now, first, version, max(0, closed - now)) .. answers
