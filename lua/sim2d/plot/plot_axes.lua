-- Axes of plots: ranges, round ticks, and their labels.

local ROUNDING = 8 * 2.0 ^ -52 -- relative difference below which values count as equal
local ROOM = 0.04 -- space beyond the data, as a fraction of the range
local LEAST_UNIT, MOST_UNIT = 1e-300, 1e300
local PLAIN_FROM, PLAIN_TO = -3, 4 -- powers of ten between which numbers are written in full
local MOST_MINOR = 30 -- lines between ticks
local FAR_POWER = 250 -- power of ten beyond which inverses or differences overflow or underflow
local OFFSET = 1e4 -- distance from zero, in steps, beyond which labels are relative to the first tick

return function(_, host)
  local parts = host.plot_parts

  -- True if the axis can show the value.
  function parts.shows(axis, value)
    return value == value and value > -math.huge and value < math.huge and not (axis.log and value <= 0)
  end

  -- Returns the position on the axis: the logarithm of the value, or the value divided by a unit. The unit differs from
  -- 1 only if squares and differences would overflow.
  function parts.place(axis, value)
    return axis.log and math.log(value, 10) or value / axis.unit
  end

  local function extend(axis, values)
    local lo, hi = axis.least, axis.most
    for i = 1, #values do
      local value = values[i]
      if value == value and value > -math.huge and value < math.huge and not (axis.log and value <= 0) then
        if value < lo then lo = value end
        if value > hi then hi = value end
      end
    end
    axis.least, axis.most = lo, hi
  end

  -- Sets the range of axes that share it from the values in all their lists.
  function parts.set_range(axes, lists, from_zero)
    local all = { least = math.huge, most = -math.huge, log = axes[1].log, range = nil }
    for _, axis in ipairs(axes) do all.range = all.range or axis.range end
    for _, list in ipairs(lists) do extend(all, list) end
    local lo, hi = all.least, all.most
    if lo > hi then lo, hi = all.log and 1 or 0, all.log and 10 or 1 end
    if all.range then lo, hi = all.range[1], all.range[2] end
    local size = math.max(math.abs(lo), math.abs(hi))
    all.unit = 1
    if not all.log and (size > 1e100 or size < 1e-100 and size > 0) then
      all.unit = 10.0 ^ math.floor(math.log(math.max(LEAST_UNIT, math.min(size, MOST_UNIT)), 10))
    end
    lo, hi = parts.place(all, lo), parts.place(all, hi)
    if not all.range then
      local room = (hi - lo) * ROOM
      if hi - lo <= math.max(math.abs(lo), math.abs(hi)) * ROUNDING then -- a single value
        room = all.log and 0.5 or math.max(math.abs(lo) * 0.12, 1.2e-3)
      end
      local grounded = from_zero and not all.log and lo == 0
      lo, hi = grounded and lo or lo - room, hi + room
    end
    if not (hi > lo) then hi = lo + math.max(math.abs(lo), 1) * 1e-12 end
    for _, axis in ipairs(axes) do
      axis.lo, axis.hi, axis.unit = lo, hi, all.unit
    end
  end

  -- ---- Ticks ------------------------------------------------------------------------------------

  -- Returns 1, 2 or 5 times a power of ten, as {factor, exponent}, such that `span` contains at most `count` steps.
  local function round_step(span, count)
    local exponent = math.floor(math.log(span / count, 10))
    for _, factor in ipairs { 1, 2, 5 } do
      if span / (factor * 10.0 ^ exponent) <= count * (1 + 1e-9) then return factor, exponent end
    end
    return 1, exponent + 1
  end

  -- Multiples of factor * 10^exponent between lo and hi. For negative exponents the code divides, because only
  -- nonnegative powers of ten are exact: 3 * 0.1 is not 0.3.
  local function multiples(factor, exponent, lo, hi)
    local power = 10.0 ^ math.abs(exponent)
    local step = exponent < 0 and factor / power or factor * power
    local list = {}
    for k = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9) do
      list[#list + 1] = exponent < 0 and k * factor / power or k * factor * power
    end
    return list, step
  end

  -- Returns a power of a thousand that is written once, at the end of the axis.
  local function common_power(size)
    if size == 0 or size < 1e5 and size >= 1e-3 then return 0 end
    return 3 * math.floor(math.log(size, 10) / 3 + 1e-9)
  end

  local function linear_ticks(axis, count)
    local factor, exponent = round_step(axis.hi - axis.lo, count)
    local list, step = multiples(factor, exponent, axis.lo, axis.hi)
    local base, size = 0, 0
    if #list > 0 and math.max(math.abs(axis.lo), math.abs(axis.hi)) > OFFSET * step then base = list[1] end
    for _, at in ipairs(list) do size = math.max(size, math.abs(at - base)) end
    local power = common_power(size)
    local unit = math.floor(math.log(axis.unit, 10) + 0.5)
    axis.ticks, axis.minor = {}, {}
    for _, at in ipairs(list) do
      axis.ticks[#axis.ticks + 1] = { at = at, label = parts.fixed((at - base) / 10.0 ^ power, power - exponent) }
    end
    axis.note = power + unit ~= 0 and "×" .. parts.power(power + unit) or nil
    if base ~= 0 then
      -- enough digits to distinguish the ticks
      local digits = math.ceil(math.log(math.abs(base) / step, 10)) + 1
      local sum = parts.plain(base * axis.unit, math.max(15, math.min(17, digits)))
      axis.note = (axis.note and axis.note .. " " or "") .. (base > 0 and "+ " .. sum or sum:gsub("^−", "− "))
    end
  end

  local function log_label(factor, k, plain)
    if plain then return parts.fixed(factor * 10.0 ^ k, -k) end
    return factor == 1 and parts.power(k) or factor .. "·" .. parts.power(k)
  end

  -- Ticks of a logarithmic range of less than a power of ten: round numbers at their logarithms. Near the limits of
  -- floating point the ticks are multiples of a power.
  local function narrow_log_ticks(axis, count)
    local shift = math.abs(axis.lo) > FAR_POWER and math.floor(axis.lo) or 0
    local lo, hi = 10 ^ (axis.lo - shift), 10 ^ (axis.hi - shift)
    local factor, exponent = round_step(hi - lo, count)
    axis.ticks, axis.minor = {}, {}
    for _, value in ipairs(multiples(factor, exponent, lo, hi)) do
      if value > 0 then
        local label = parts.plain(value, 6) .. (shift ~= 0 and "·" .. parts.power(shift) or "")
        axis.ticks[#axis.ticks + 1] = { at = math.log(value, 10) + shift, label = label }
      end
    end
  end

  local function log_ticks(axis, count)
    local lo, hi = axis.lo - 1e-9, axis.hi + 1e-9
    local decades = hi - lo
    local stride = math.max(1, math.ceil(decades / count))
    -- one tick per n powers of ten, for a round n
    for _, round in ipairs { 2, 3, 5, 10, 20, 50, 100, 200 } do
      if stride > 1 and stride <= round then
        stride = round
        break
      end
    end
    -- if there is enough space, 2 and 5 also have labels
    local labelled = { true }
    if decades * 3 <= count then labelled = { true, true, [5] = true } end
    local first, last = math.floor(lo), math.ceil(hi)
    local plain = lo >= PLAIN_FROM - 0.01 and hi <= PLAIN_TO + 0.5
    axis.ticks, axis.minor = {}, {}
    local between = stride == 1 or decades <= MOST_MINOR
    -- multiples of each power, either with a label or as a minor tick
    for k = first, last do
      for factor = 1, stride == 1 and 9 or 1 do
        local at = k + math.log(factor, 10)
        if at >= lo and at <= hi then
          if labelled[factor] and k % stride == 0 then
            axis.ticks[#axis.ticks + 1] = { at = at, label = log_label(factor, k, plain) }
          elseif between then
            axis.minor[#axis.minor + 1] = at
          end
        end
      end
    end
  end

  -- Computes about `count` ticks. axis.ticks is a list of {at, label}, axis.minor a list of positions, and axis.note
  -- the text at the end of the axis.
  function parts.set_ticks(axis, count)
    axis.note = nil
    if not axis.log then
      linear_ticks(axis, count)
    elseif axis.hi - axis.lo < 1 then
      narrow_log_ticks(axis, count)
    else
      log_ticks(axis, count)
    end
  end
end
