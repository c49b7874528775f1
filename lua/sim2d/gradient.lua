-- sim.hvp and sim.check_grad: finite differences of exact gradients along a direction, and of values along each
-- parameter.

-- Step size relative to the size of the parameters (at least 1). The truncation error of the differences is the fourth
-- power of the step (here 1e-12) times the fifth derivative. The rounding error is the unit roundoff divided by the
-- step (here 1e-13).
local STEP = 1e-3
-- Fraction of the largest derivative. The error of a smaller derivative is divided by this fraction of the largest
-- derivative, because its own relative error is meaningless.
local SMALL = 1e-3
-- An error above DOUBT is tested with a step that is smaller by the factor CLOSER. If the difference then changes by
-- more than half of the error, the step crossed a kink.
local DOUBT, CLOSER = 1e-6, 100
-- Rounding errors of the value of a world with many bodies, relative to the value (at least 1). A difference is noise
-- if it is below this and changes with the step size.
local NOISE = 1e-12

-- Flags for effects that finite differences of the same steps do not contain, or show as an error.
local MEANING = {
  impact = "impact: neither the gradient nor the differences contain the effect of impact times, "
    .. "because steps of fixed length do not move impacts with the parameters; "
    .. 'stepping = "event" gives the derivative of the motion',
  together = "together: contact points met at the same time; "
    .. "if a parameter (an angle, a spin) makes one of them meet before the other, its derivative is incomplete there",
}

return function(sim, host)
  local fail = host.fail

  local function largest(x)
    local most = 0
    for _, value in ipairs(x) do most = math.max(most, math.abs(value)) end
    return most
  end

  -- The Hessian of f at p, multiplied by the vector d.
  function sim.hvp(f, p, d)
    host.check_function("hvp", 1, f)
    local layout, given = host.layout(p, "p"), host.layout(d, "d").count
    local x = layout.start
    if #x ~= given then
      fail("bad argument #3 to 'hvp' (%d numbers expected, as many as the parameters have, got %d)",
        #x, given)
    end
    local direction = layout:read(d, "bad argument #3 to 'hvp'")
    local length, result = largest(direction), {}
    if length == 0 then
      for i = 1, #x do result[i] = 0.0 end
      return layout:build(result)
    end
    local step = STEP * math.max(1, largest(x)) / length
    for _, side in ipairs { { 1, 8 }, { -1, -8 }, { 2, -1 }, { -2, 1 } } do
      local at = {}
      for i = 1, #x do at[i] = x[i] + side[1] * step * direction[i] end
      local g = layout:read(sim.grad(f, layout:build(at)), "gradient")
      for i = 1, #x do result[i] = (result[i] or 0) + side[2] * g[i] / (12 * step) end
    end
    return layout:build(result)
  end

  local function plain_loss(f, p)
    local value = f(p)
    if type(value) ~= "number" or value ~= value or math.abs(value) == math.huge then
      fail("check_grad: the function returned %s near p, not a finite number", tostring(value))
    end
    return value
  end

  local function difference(f, layout, x, i, step)
    local slopes = {}
    local from = x[i]
    for k, h in ipairs { step, step / 2 } do
      x[i] = from + h
      local ahead = plain_loss(f, layout:build(x))
      x[i] = from - h
      slopes[k] = (ahead - plain_loss(f, layout:build(x))) / (2 * h)
    end
    x[i] = from
    return slopes[2] + (slopes[2] - slopes[1]) / 3
  end

  local function read_options(options)
    local read = { step = STEP, print = true }
    if options ~= nil and type(options) ~= "table" then
      fail("bad argument #3 to 'check_grad' (table expected, got %s)", type(options))
    end
    for key, value in pairs(options or {}) do
      if read[key] == nil then
        fail("bad argument #3 to 'check_grad' (unknown key '%s'; known: step, print)", tostring(key))
      elseif type(value) ~= type(read[key]) or (key == "step" and not (value > 0 and value < 1)) then
        fail("bad argument #3 to 'check_grad' (key '%s': %s expected, got %s)", key,
          key == "step" and "number between 0 and 1" or "true or false", tostring(value))
      end
      read[key] = value
    end
    return read
  end

  -- Returns the error of derivative i, and a message if the finite difference is not a valid reference.
  local compare
  function compare(f, layout, x, i, case)
    local g, slope, step = case.g[i], case.slopes[i], case.steps[i]
    local size = math.max(math.abs(g), math.abs(slope), case.least)
    local off = math.abs(g - slope)
    local err = size == 0 and 0.0 or off / size
    if err <= DOUBT then return err end
    local own = case.step * math.abs(x[i])
    if own > 0 and own < step then
      -- The effect of a compliance of 1e-4 is linear only over changes below 1e-5. Use the step whose difference
      -- changes less when the step is made ten times smaller.
      local other = difference(f, layout, x, i, own)
      if math.abs(difference(f, layout, x, i, own / 10) - other)
        < math.abs(difference(f, layout, x, i, step / 10) - slope) then
        case.slopes[i], case.steps[i] = other, own
        return compare(f, layout, x, i, case)
      end
    end
    local nearer = difference(f, layout, x, i, step / CLOSER)
    if math.abs(nearer - slope) <= off / 2 then return err end
    local text = ("%s: differences with step %.0e give %.6g, but those with step %.0e give %.6g: "):format(
      layout:name(i), step, slope, step / CLOSER, nearer)
    local scale = math.max(1, math.abs(case.value))
    if off * step < NOISE * scale then
      return off / math.max(size, SMALL * scale / math.max(1, math.abs(x[i]))),
        text .. "the difference is only rounding; the error is relative to the value"
    end
    return err, text .. "f has a kink or a jump within the step (for example where a contact changes); give a smaller step"
  end

  -- Compares the gradient of f at p with finite differences of its values. Prints a line per parameter. Returns the
  -- largest relative error and the flags of the gradient.
  function sim.check_grad(f, p, options)
    host.check_function("check_grad", 1, f)
    options = read_options(options)
    local layout = host.layout(p, "p")
    local gradient, value = sim.grad(f, p)
    local flags = sim.tape_stats().flags
    local x, g = layout.start, layout:read(gradient, "gradient")
    local rows, worst = { columns = { "parameter", "value", "gradient", "difference", "error" } }, 0
    local slopes, steps = {}, {}
    for i = 1, #x do
      -- If f raises an error, try a step that is relative to the parameter. For example, a compliance of 1e-4 cannot be
      -- changed by 1e-3.
      local from, size = x[i], math.abs(x[i])
      for attempt, step in ipairs { options.step * math.max(1, size), options.step * size } do
        local success, slope = true, nil
        if attempt == 1 and size > 0 and size < 1 then
          success, slope = pcall(difference, f, layout, x, i, step)
        else
          slope = difference(f, layout, x, i, step)
        end
        x[i] = from
        if success then
          slopes[i], steps[i] = slope, step
          break
        end
      end
    end
    local case = { g = g, slopes = slopes, steps = steps, value = value, step = options.step,
      least = SMALL * math.max(largest(g), largest(slopes)) }
    local notes = {}
    for _, flag in ipairs(flags) do notes[#notes + 1] = MEANING[flag] end
    for i = 1, #x do
      local err, note = compare(f, layout, x, i, case)
      worst = math.max(worst, err)
      notes[#notes + 1] = note
      rows[i] = { layout:name(i), x[i], ("%.10g"):format(g[i]), ("%.10g"):format(slopes[i]),
        ("%.1e"):format(err) }
    end
    if options.print then
      sim.table(rows)
      for _, line in ipairs(notes) do print(line) end
    end
    return worst, flags
  end
end
