-- One step of a store, on the key of one record.
-- ARGV: the step, the fence, a time in milliseconds, the record, its fingerprint. For a list, without a key: the cursor, a pattern.
local key, step, fence, time, record = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local number = function(value) return string.format('%.0f', value) end
local read = function(key)
  local found = redis.call('HMGET', key, 'record', 'fence', 'until', 'finished', 'fingerprint')
  return found, found[1] and not found[4] and tonumber(found[3]) > now
end

if step == 'list' then
  local page, list = redis.call('SCAN', ARGV[2], 'MATCH', ARGV[3], 'COUNT', 1000), {}
  for _, name in ipairs(page[2]) do
    local found, held = read(name)
    if found[1] then list[#list + 1] = {name, found[1], found[2], held and 1 or 0} end
  end
  return {page[1], list}
end
local found, held = read(key)

if step == 'begin' then
  if found[1] and (found[4] or held or found[5] ~= ARGV[5]) then return {'0', found[1]} end
  local next = number(math.max(clock[1] * 1000000 + clock[2], tonumber(found[2] or '0') + 1))
  redis.call('HSET', key, 'fence', next, 'until', number(now + time))
  if found[1] then return {next, found[1]} end
  redis.call('HSET', key, 'record', record, 'fingerprint', ARGV[5])
  return {next, ''}
elseif found[2] ~= fence then
  return {'0'}
elseif step == 'finish' then
  redis.call('HSET', key, 'record', record, 'finished', '1')
  redis.call('PEXPIRE', key, number(time))
  return {'1'}
elseif step == 'remove' then
  redis.call('DEL', key)
  return {'1'}
elseif step == 'renew' and not found[4] then
  redis.call('HSET', key, 'until', number(now + time))
  if record ~= '' then redis.call('HSET', key, 'record', record) end
  return {'1'}
end
return {'0'}
