-- Reserves slots for one API key. `places.rs` is the same for a single process, and explains the places.
--
-- KEYS[1] is a string of doubles: eight figures, then two for each place (when it can be reserved for next, and a slot of
-- it that was given back). One string, so that whoever loses a part of the state loses all of it, which is noticed. Times
-- are milliseconds of the server's clock, less a correction for its steps.
--
-- ARGV: window, limit, flags, until when an answer is waited for, the process's estimate of the time (both 0 if it has
-- none), the latest time that it was told, the generation of the state that it knows, a place that it has reserved and the time of
-- that, how many reports follow; reports (what, place, figure); questions (priority, longest wait).
-- Flags: n, the store is new; c, the clock has stepped; a, the process went on without the store; f, it has just begun.
--
-- Returns {status, time, generation, closed for, last slot in, and for each question: place, wait, come back after}. Status:
-- 1, the key was not known; 2, the state was older than what the process knows; 3, nothing was done, since it came too late.
local call, key, floor, max, min = redis.call, KEYS[1], math.floor, math.max, math.min
local window, limit, flags = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local wanted, known, place, reports = tonumber(ARGV[4]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[10])
local slack, near, lend = max(1, floor(window / 60)), floor(window / 12), floor(window / 2)
local span, twelfth, quarter = window + slack, floor(limit / 12), floor(limit / 4)
local own = limit - (limit < 3 and 0 or max(1, twelfth))
local gap = floor(span / (2 * (limit - twelfth)))
local LAST, SKEW, GENERATION, CLOSED, PAUSE, QUEUE, LATEST, GIVEN, HEADER = 1, 2, 3, 4, 5, 6, 7, 8, 8
local time, state, status, changed = call('TIME'), call('GET', key), 0, {}
local clock, size = time[1] * 1000 + floor(time[2] / 1000), HEADER + 2 * limit
local v = {struct.unpack('<' .. string.rep('d', size), (state or '') .. string.rep('\0', size * 8 - #(state or '')))}

-- A clock that goes back stands still until it is corrected; one that leaps is contradicted by the process.
local now = max(v[LAST], clock - v[SKEW])
if state and wanted > 0 and now > wanted then
  if not flags:find('c') then return {3, now, v[GENERATION], 0, 0} end
  now = max(v[LAST], tonumber(ARGV[5]))
end
local silence = now - v[LAST]
local same = known == v[GENERATION]
local declared = known > 0 and known < v[GENERATION] and v[CLOSED] < 0
if not state or declared or known > v[GENERATION]
  or same and (tonumber(ARGV[6]) > now or place > 0 and v[HEADER + 2 * place - 1] < tonumber(ARGV[9])) then
  status = state and 2 or 1
  v[GENERATION] = max(known + 1, time[1] * 1000000 + time[2])
  v[CLOSED] = flags:find('n') and -1 or max(v[CLOSED], now + span + near)
elseif silence > span and flags:find('a') then
  v[CLOSED] = max(v[CLOSED], now + span)
elseif silence > span and flags:find('f') then
  v[CLOSED] = max(v[CLOSED], now + floor(window / 20))
end
v[LAST], v[SKEW] = now, clock - now

local function occupy(p, to)
  v[HEADER + 2 * p - 1] = max(v[HEADER + 2 * p - 1], to)
  changed[p] = true
end
local function earliest(from, to, open)
  local first, at = 0, math.huge
  for p = from, to do
    local free, given = v[HEADER + 2 * p - 1], v[HEADER + 2 * p]
    if given > 0 and free == given + span then free = given end
    if free < at then
      first, at = p, free
      if free <= now then break end
    end
  end
  return first, max(at, open)
end
local function throttle(pause)
  if v[CLOSED] > now then
    v[CLOSED] = max(v[CLOSED], now + pause)
    return
  end
  v[PAUSE] = v[PAUSE] > 0 and now - v[CLOSED] < span and min(window, 2 * v[PAUSE]) or near
  v[CLOSED] = now + (pause < 0 and v[PAUSE] or pause)
  local used, tenth, closed = 0, max(1, floor(limit / 10)), 0
  local function is_used(p) return v[HEADER + 2 * p - 1] > now end
  for p = 1, limit do
    if v[HEADER + 2 * p - 1] > now + span then closed = closed + 1 elseif is_used(p) then used = used + 1 end
  end
  local barred = limit - max(tenth, floor(used * 3 / 4))
  for _, of_used in ipairs({false, true}) do
    for first = 1, 12 do
      for p = first, limit, 12 do
        local free = v[HEADER + 2 * p - 1]
        if closed < barred and is_used(p) == of_used and free <= now + span then
          occupy(p, max(free, now) + span * (1 + floor(closed / tenth)))
          closed = closed + 1
        end
      end
    end
  end
end
for i = 11, 10 + 3 * reports, 3 do
  local what, p, figure = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  if what == 'throttled' then
    throttle(figure)
  elseif what == 'sent' then
    occupy((earliest(1, limit, now)), now - figure + span)
  elseif same and what == 'postponed' then
    occupy(p, now - figure + span)
  elseif same and what == 'given' then
    if figure > now then
      v[HEADER + 2 * p], v[GIVEN] = figure, max(v[GIVEN], figure)
      if figure == v[QUEUE] then v[QUEUE] = figure - gap end
    elseif v[HEADER + 2 * p - 1] == figure + span then
      v[HEADER + 2 * p - 1] = figure
    end
    changed[p] = true
  end
end

local function reserve(priority, longest)
  local open = max(now, v[CLOSED])
  local behind = v[QUEUE] > now and max(open, v[QUEUE] + gap) or open
  local p, at, latest, from, to, wait, after = 0, math.huge, math.huge, 1, limit, span, 0
  if priority == 0 then
    p, at = earliest(1, limit, open)
  elseif priority == 1 then
    from, to = twelfth + 1, own
    p, at = earliest(from, to, behind)
    if at > now then
      local lent, lent_at = earliest(own + 1, limit, behind)
      if lent_at < at and lent_at <= now + lend then p, at = lent, lent_at end
    end
  else
    from, latest = quarter + 1, now + near
    local theirs, theirs_at = earliest(own + 1, limit, open)
    local shared, shared_at = earliest(from, own, behind)
    wait, after = min(theirs_at, shared_at) - now, max(1, min(theirs_at - lend - span, shared_at - near) - now)
    if theirs_at <= now + lend + span then p, at = theirs, theirs_at end
    if shared_at < at and shared_at <= now + near then p, at = shared, shared_at end
  end
  local given = 0
  if v[GIVEN] > open and at > now then
    for q = from, to do
      local slot = v[HEADER + 2 * q]
      if slot > open and slot < at and slot <= latest then p, at, given = q, slot, q end
    end
  end
  if p == 0 then return 0, wait, after <= longest and after or 0 end
  if at > now + longest then return 0, at - now, 0 end
  local i = HEADER + 2 * p
  if given > 0 then
    v[i] = 0
  else
    if v[i] > 0 and v[i - 1] == v[i] + span then v[i] = 0 end
    v[i - 1] = at + span
    if priority == 1 then v[QUEUE] = at end
  end
  v[LATEST], changed[p] = max(v[LATEST], at), true
  return p, at - now, 0
end
local answer = {status, now, v[GENERATION], max(0, v[CLOSED] - now), 0}
for i = 11 + 3 * reports, #ARGV, 2 do
  local p, wait, after = reserve(tonumber(ARGV[i]), tonumber(ARGV[i + 1]))
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = p, wait, after
end
answer[5] = max(0, v[LATEST] - now)
call('SETRANGE', key, 0, struct.pack('<dddddddd', unpack(v, 1, HEADER)))
for p in pairs(changed) do
  call('SETRANGE', key, 8 * (HEADER + 2 * p - 2), struct.pack('<dd', v[HEADER + 2 * p - 1], v[HEADER + 2 * p]))
end
if not state or silence > 3600000 then call('PEXPIRE', key, 2592000000) end
return answer
