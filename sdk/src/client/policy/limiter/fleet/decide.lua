-- Decisions about one API key, and what its callers have to tell.
--
-- KEYS[1] is a sorted set, the only key: whatever takes a part of the state takes all of it, and that is seen. It holds
--   <lane><id>    a request that counts, by when it counts from
--   l<lane><id>   of one that has not ended: when it can be sent at the latest
--   #<name>       a figure
-- Times are milliseconds of the server's own clock. What is not a request has a score of 0 or less, so that the requests are
-- the scores from 1 up.
--
-- ARGV: window, limit, how long the caller was away (-1: it was not), whether the store is known to be new, how many
-- questions there are; then questions of six words each: lane, id, lasts, patience, waited, whether others of the lane wait
-- behind it; then reports of four: what, which request, and two figures.
--
-- Answers {why, granted, when, granted, when, ...}, a pair for each question. When: the time of a request that may be sent,
-- else how long to wait. Why: 1, nothing was known of the key; 2, the store has lost something; else 0.
local call, key = redis.call, KEYS[1]
local window, limit, questions = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[5])
local reports = 6 + 6 * questions
local slack = math.max(1, math.floor(window / 60))
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local places, changes, answer = limit, {}, {0}

-- How many requests may count when one of this lane is let through: of 120, 110 for interactive calls and 90 for bulk.
local function ceiling(lane)
  if lane == '0' then return places end
  return math.max(1, places - math.floor(places / (lane == '1' and 12 or 4)))
end

-- A request that counts from now on, and may be sent as late as it lasts.
local function let_through(i)
  local request, n, m = ARGV[i] .. ARGV[i + 1], #changes, #answer
  changes[n + 1], changes[n + 2], changes[n + 3], changes[n + 4] = now, request, -(now + ARGV[i + 2]), 'l' .. request
  answer[m + 1], answer[m + 2] = 1, now
end

-- The short way, for a store in which all is well and there is room. The count is exact or too high.
local well = call('ZMSCORE', key, '#closed', '#heard', '#learned', '#waits', '#count')
if questions > 0 and well[1] and now >= -well[1] and now + well[2] < slack and well[3] == '0' and now >= -well[4] then
  local count, i, ended = -well[5], reports, {}
  while ARGV[i] == 'e' do
    ended[#ended + 1] = 'l' .. ARGV[i + 1]
    i = i + 4
  end
  local room = not ARGV[i] and (not ended[1] or call('ZREM', key, unpack(ended)) == #ended)
  for i = 6, reports - 1, 6 do
    room = room and count < ceiling(ARGV[i])
    if not room then break end
    count = count + 1
    let_through(i)
  end
  if room then
    call('ZADD', key, -count, '#count', unpack(changes))
    return answer
  end
  changes, answer = {}, {0}
end

-- The figures, kept negative.
local CLOSED, HEARD, LEARNED, WAITS, COUNT, CAPACITY, STRIKES, GAP, WAITING, HINT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12
local names = {'#closed', '#heard', '#learned', '#waits', '#count', '#capacity', '#strikes', '#gap',
  '#waits0', '#waits1', '#waits2', '#hint0', '#hint1', '#hint2'}
local figures = call('ZMSCORE', key, unpack(names))
local known = figures[1]
for i = 1, #names do figures[i] = -(tonumber(figures[i] or 0)) end
local function put(figure, value)
  figures[figure] = value
  changes[#changes + 1] = value == 0 and 0 or -value
  changes[#changes + 1] = names[figure]
end
local function close(to)
  if to > figures[CLOSED] then put(CLOSED, to) end
end
-- Somebody of this lane waits until then.
local function note(of, to)
  if to > figures[WAITING + of] then put(WAITING + of, to) end
  if to > figures[WAITS] then put(WAITS, to) end
end
local away, span, settle, grace =
  tonumber(ARGV[3]), window + slack, math.floor(window / 20), math.ceil(slack / 4)

if not known then
  -- New, or come back without its memory: then it counts as full until what it forgot no longer counts.
  for figure = 1, #names do put(figure, 0) end
  put(HEARD, now)
  if ARGV[4] ~= '1' then
    answer[1] = 1
    close(now + span)
  end
elseif now - figures[HEARD] > span then
  -- Nobody was heard for so long that some may have gone on without the store. Those come back in a moment.
  put(GAP, now)
  close(now + settle)
end
if away >= span and figures[GAP] >= now - away - settle then close(figures[GAP] + span) end
if now - figures[HEARD] >= slack then put(HEARD, now) end

-- After a 429 the limit grows back step by step.
while figures[LEARNED] > 0 and now - figures[LEARNED] >= span do
  put(STRIKES, 0)
  put(CAPACITY, figures[CAPACITY] + math.max(1, math.floor(limit / 10)))
  put(LEARNED, figures[CAPACITY] < limit and figures[LEARNED] + span or 0)
end
local function used()
  return call('ZCOUNT', key, 1, '+inf')
end

-- What counts no longer. A request that has not ended may be sent yet: it counts again, from the latest it can be.
local over = call('ZRANGEBYSCORE', key, 1, now - span)
if over[1] then
  for i = 1, #over do
    local latest = call('ZSCORE', key, 'l' .. over[i])
    if latest then
      call('ZREM', key, 'l' .. over[i])
      call('ZADD', key, 'GT', -latest, over[i])
    end
  end
  call('ZREMRANGEBYSCORE', key, 1, now - span)
end

-- What the caller has to tell of its other requests.
for i = reports, #ARGV, 4 do
  local what, which, a, b = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local lost = false
  if what == 'e' then -- ended in time; when it was let through
    -- It must be there, unless that was too long ago: told by the time that it was given here, since a report may have
    -- been on its way for long.
    lost = call('ZREM', key, 'l' .. which) == 0 and now - a < window and not call('ZSCORE', key, which)
  elseif what == 'f' then -- ended late; when it was let through, and how long ago it ended
    call('ZREM', key, 'l' .. which)
    lost = call('ZADD', key, now - b, which) == 1 and now - a < window
  elseif what == 'g' then -- never sent
    call('ZREM', key, which, 'l' .. which)
  elseif what == 'b' then -- sent without the store; so long ago, and may be sent so much later than that
    if not call('ZSCORE', key, which) then
      call('ZADD', key, now - a, which, -(now - a + b), 'l' .. which)
    end
  elseif what == 't' then -- refused by the service, which asked for so long a pause (-1: it did not say)
    if figures[CLOSED] > now then
      if a > 0 then close(now + a) end
    else
      local pause = a
      if a < 0 then pause = math.min(window, math.floor(window / 12) * 2 ^ math.min(6, figures[STRIKES])) end
      local now_allowed = figures[LEARNED] > 0 and figures[CAPACITY] or limit
      put(CAPACITY, math.max(1, math.floor(limit / 10), math.floor(math.min(now_allowed, used()) * 3 / 4)))
      put(STRIKES, figures[STRIKES] + 1)
      put(LEARNED, now)
      close(now + pause)
    end
  end
  if lost then
    answer[1] = 2
    close(now + span)
  end
end
if figures[LEARNED] > 0 then places = math.min(limit, figures[CAPACITY]) end

local counted, bulk = used(), nil
for i = 6, reports - 1, 6 do
  local lane, patience, waited = tonumber(ARGV[i]), tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  local most, ahead, aged, shut = ceiling(ARGV[i]), 0, false, figures[CLOSED]
  if lane == 1 and figures[WAITING + 2] > now then
    ahead = 1
  elseif lane == 2 then
    if waited >= window / 2 then
      -- It has waited for long: then it goes before interactive calls, as far as the share of its lane goes.
      if not bulk then
        local all = call('ZRANGEBYSCORE', key, 1, '+inf')
        bulk = 0
        for j = 1, #all do
          if string.sub(all[j], 1, 1) == '2' then bulk = bulk + 1 end
        end
      end
      aged = bulk < math.max(1, math.floor(places / 12))
      if aged then most = ceiling('1') end
    end
    if not aged then shut = math.max(shut, figures[WAITING + 1]) end
  end
  -- Others that are more urgent wait.
  if lane >= 1 then shut = math.max(shut, figures[WAITING]) end
  if counted + ahead < most and shut <= now then
    let_through(i)
    counted = counted + 1
    if aged then
      bulk = bulk + 1
      put(WAITING + 2, 0)
    end
    if ARGV[i + 5] == '1' and lane < 2 then note(lane, now + grace) end
  else
    local free = shut
    if counted + ahead >= most then
      -- Whoever waits is told of a place of its own, so that not all come for the same one.
      local first = call('ZRANGEBYSCORE', key, 1, '+inf', 'WITHSCORES', 'LIMIT', counted + ahead - most, 1)
      local at, hint = tonumber(first[2] or now), figures[HINT + lane]
      if hint >= at then
        local after = '(' .. string.format('%.0f', hint)
        local next = call('ZRANGEBYSCORE', key, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
        at = tonumber(next[2] or at)
      end
      if at + span - now <= patience then put(HINT + lane, at) end
      free = math.max(free, at + span)
    end
    local wait = math.max(1, free - now)
    if wait <= patience and (lane < 2 or aged) then note(lane, free + grace) end
    answer[#answer + 1] = 0
    answer[#answer + 1] = wait
  end
end
put(COUNT, counted)
if questions == 0 then
  -- Whoever looks in now and then keeps it for a month.
  call('PEXPIRE', key, 2592000000)
end
call('ZADD', key, unpack(changes))
return answer
