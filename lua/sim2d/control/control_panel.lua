-- sim.control.panel: Bode plot, margins, step response and poles of a control loop (a law and a linear model), on one
-- page.

local POINTS = 400          -- frequencies per curve
local BELOW, ABOVE = 30, 30 -- curves begin at the slowest pole / BELOW and end at the fastest pole * ABOVE
local SAME = 1e-12          -- a smaller relative change of a frequency counts as none
local HALVINGS = 80         -- number of bisection steps for a crossing
local STEP_POINTS = 400     -- smallest number of points of a step response
local STEP_MOST = 20000     -- largest number of steps of a step response
local SETTLE = 8            -- duration of a step response in time constants of the slowest pole
local STILL = 1e-6          -- 1/s; slower poles do not affect the duration
local WIDTH, HEIGHT = 960, 720 -- px
local BEYOND = 1e6          -- a growing response is cut at this multiple of the step

return function(sim, host)
  local control = sim.control
  local fail, describe = host.fail, host.describe

  -- ---- Matrices as lists ------------------------------------------------------------------------

  local function matrix(what, name, value, rows, columns)
    if type(value) == "number" then value = { { value } } end
    local good, a = pcall(sim.array, value)
    if good and #a.shape == 1 then a = columns == 1 and a:reshape(a.size, 1) or a:reshape(1, a.size) end
    if not good or #a.shape ~= 2 or (rows and a.shape[1] ~= rows) or (columns and a.shape[2] ~= columns) then
      fail("bad argument to '%s' (%s: a matrix%s expected, got %s)", what, name,
        (rows or columns) and (" of %s x %s"):format(rows or "any", columns or "any") or "",
        good and table.concat(a.shape, " x ") or tostring(a):gsub("^[^ ]*:%d+: ", ""))
    end
    local list = sim.stop_gradient(a):table()
    for i, row in ipairs(list) do
      for j = 1, #row do
        if not host.finite(row[j]) then fail("bad argument to '%s' (%s: the number in row %d, column %d is not finite)", what, name, i, j) end
      end
    end
    return list
  end

  local function zeros(rows, columns)
    local list = {}
    for i = 1, rows do
      list[i] = {}
      for j = 1, columns do list[i][j] = 0 end
    end
    return list
  end

  -- Solves (s I - A) x = b for complex s and real A, b by Gaussian elimination with row pivoting. Returns lists of the
  -- real and imaginary parts.
  local function resolve(A, b, re, im)
    local n, M, I = #A, {}, {}
    for i = 1, n do
      M[i], I[i] = {}, {}
      for j = 1, n do M[i][j], I[i][j] = (i == j and re or 0) - A[i][j], i == j and im or 0 end
      M[i][n + 1], I[i][n + 1] = b[i][1], 0
    end
    -- for each column, choose the largest pivot and clear the column above and below it
    for k = 1, n do
      local best = k
      for i = k + 1, n do
        if M[i][k] ^ 2 + I[i][k] ^ 2 > M[best][k] ^ 2 + I[best][k] ^ 2 then best = i end
      end
      M[k], M[best], I[k], I[best] = M[best], M[k], I[best], I[k]
      local d = M[k][k] ^ 2 + I[k][k] ^ 2
      if d == 0 then return nil end
      for i = 1, n do
        if i ~= k then
          local fr = (M[i][k] * M[k][k] + I[i][k] * I[k][k]) / d
          local fi = (I[i][k] * M[k][k] - M[i][k] * I[k][k]) / d
          for j = k, n + 1 do
            M[i][j], I[i][j] = M[i][j] - fr * M[k][j] + fi * I[k][j], I[i][j] - fr * I[k][j] - fi * M[k][j]
          end
        end
      end
    end
    -- a diagonal matrix remains
    local xr, xi = {}, {}
    for k = 1, n do
      local d = M[k][k] ^ 2 + I[k][k] ^ 2
      xr[k] = (M[k][n + 1] * M[k][k] + I[k][n + 1] * I[k][k]) / d
      xi[k] = (I[k][n + 1] * M[k][k] - M[k][n + 1] * I[k][k]) / d
    end
    return xr, xi
  end

  -- ---- The loop ---------------------------------------------------------------------------------

  -- A loop has the law u = (input from r) - K x and the model x' (or x+) = A x + B u + G r, y = C x, with one input. A
  -- discrete loop has a `dt`.

  -- The law of a world holds u for a period. Returns A and B over the `steps` steps of the period.
  local function held(A, B, steps)
    local a, b = sim.array(A), sim.array(B)
    local power, sum = a, b
    for _ = 2, steps do
      power, sum = a:mm(power), a:mm(sum) + b
    end
    return power:table(), sum:table()
  end

  local function read_model(model, def, law)
    local A, B, dt, list, names
    if getmetatable(model) == "World" then
      local inputs = host.actuators(model)
      if #inputs == 0 then fail("panel: the world has no actuators: declare one: world:actuator { ... }") end
      local coordinates = def.coordinates
      local list_of_law = not coordinates and law and host.field(law, "coordinates")
      if list_of_law then
        coordinates = {}
        for i, of in ipairs(list_of_law) do coordinates[i] = of.joint or of.body end
      end
      A, B, list = model:linearize { inputs = inputs, coordinates = coordinates or "reduced" }
      dt, names = model.dt, {}
      for i, actuator in ipairs(inputs) do names[actuator.name] = i end
    elseif model == nil and type(law) == "table" and host.field(law, "A") and host.field(law, "B") then
      A, B, dt = law.A, law.B, law.period
    elseif type(model) == "table" and model.A and model.B then
      host.check_panel_keys("panel: model", model, { A = true, B = true, C = true, dt = true })
      A, B, dt = model.A, model.B, model.dt
      if dt ~= nil and not (host.finite(dt) and dt > 0) then fail("panel: dt: the length of a step in s expected, got %s", describe(dt)) end
    else
      fail("bad argument #2 to 'panel' (a world, or { A =, B =, C =, dt = }, expected, got %s)", describe(model))
    end
    A = matrix("panel", "A", A)
    if #A[1] ~= #A then fail("bad argument to 'panel' (A: square matrix expected, got %d x %d)", #A, #A[1]) end
    B = matrix("panel", "B", type(B) ~= "table" and B or type(B[1]) == "number" and sim.array(B):reshape(#B, 1) or B, #A)
    -- the law's period in steps
    local period = def.period
    if period == nil and names and law then period = host.field(law, "sampling") end
    if period ~= nil and dt then
      local steps = host.finite(period) and math.floor(period / dt + 0.5) or 0
      if steps < 1 or math.abs(steps * dt - period) > 1e-6 * dt * steps then
        fail("bad argument #3 to 'panel' (key 'period': a multiple of dt (%g s) expected, got %s)", dt, describe(period))
      end
      A, B = held(A, B, steps)
      dt = steps * dt
    end
    return { A = A, B = B, dt = dt, n = #A, m = #B[1], coordinates = list, names = names, C = type(model) == "table" and model.C }
  end

  -- Returns the row of the output, which is given as the index of an element of x, as a row, or as a coordinate of the
  -- world.
  local function read_output(loop, output)
    local row = zeros(1, loop.n)[1]
    if output == nil and loop.C then output = loop.C end
    if output == nil then output = 1 end
    if host.whole(output) and output >= 1 and output <= loop.n then
      row[output] = 1
      return row
    end
    for i, of in ipairs(loop.coordinates or {}) do
      if output == (of.joint or of.body) then
        row[i] = 1
        return row
      end
    end
    local kind = getmetatable(output)
    if type(output) ~= "table" and kind ~= "Array" then
      fail("bad argument #3 to 'panel' (key 'output': an index of x up to %d, a row of C, or a coordinate expected, got %s)",
        loop.n, describe(output))
    end
    return matrix("panel", "output", output, 1, loop.n)[1]
  end

  -- Closes the loops of the other inputs, so that one input remains.
  local function single_input(loop, K, input)
    if not host.whole(input) or input < 1 or input > loop.m then
      fail("bad argument #3 to 'panel' (key 'input': an index of u up to %d expected, got %s)", loop.m, describe(input))
    end
    for i = 1, loop.n do
      local row = {}
      for j = 1, loop.n do
        row[j] = loop.A[i][j]
        for k = 1, loop.m do
          if k ~= input then row[j] = row[j] - loop.B[i][k] * K[k][j] end
        end
      end
      loop.A[i] = row
    end
    for i = 1, loop.n do loop.B[i] = { loop.B[i][input] } end
    loop.K = { K[input] }
  end

  -- State feedback u = K (goal - x), where the goal is a state whose output is r.
  local function feedback(loop, K, def)
    K = matrix("panel", "K", type(K) == "table" and type(K[1]) == "number" and { K } or K, loop.m, loop.n)
    loop.C = read_output(loop, def.output)
    single_input(loop, K, def.input == nil and 1 or def.input)
    local square, push = 0, 0
    for j = 1, loop.n do square = square + loop.C[j] ^ 2 end
    for j = 1, loop.n do push = push + loop.K[1][j] * loop.C[j] / square end
    loop.G = {}
    for i = 1, loop.n do loop.G[i] = loop.B[i][1] * push end
  end

  -- Writes a PID as feedback of an extended state that contains its integral and its derivative filter. It is
  -- discretised like the law.
  local function pid(loop, law, def)
    if loop.m > 1 then
      local input = def.input == nil and (loop.names and loop.names[law.actuator] or 1) or def.input
      single_input(loop, zeros(loop.m, loop.n), input)
      loop.m = 1
    end
    local C, n, dt = read_output(loop, def.output), loop.n, loop.dt
    local kp, ki, kd, filter = law.kp, law.ki, law.kd, law.filter or 0
    for _, gain in ipairs { kp, ki, kd, filter } do
      if type(gain) ~= "number" then fail("panel: plain numbers expected as gains, got %s", describe(gain)) end
    end
    local extra = 3
    local A, B, K, G = zeros(n + extra, n + extra), zeros(n + extra, 1), zeros(1, n + extra), {}
    for i = 1, n do
      for j = 1, n do A[i][j] = loop.A[i][j] end
      B[i][1] = loop.B[i][1]
    end
    local s, d, p = n + 1, n + 2, n + 3 -- indices of integral, slope, previous measurement
    if dt then
      -- sum' = sum + ki dt (r - y), slope' = (1 - a) slope + a (y - previous) / dt, previous' = y
      local a = dt / (filter + dt)
      for j = 1, n do
        A[s][j], A[d][j], A[p][j] = -ki * dt * C[j], a / dt * C[j], C[j]
        K[1][j] = (kp + ki * dt + kd * a / dt) * C[j]
      end
      A[s][s], A[d][d], A[d][p] = 1, 1 - a, -a / dt
      K[1][s], K[1][d], K[1][p] = -1, kd * (1 - a), -kd * a / dt
      for i = 1, n do G[i] = B[i][1] * (kp + ki * dt) end
      G[s], G[d], G[p] = ki * dt, 0, 0
    else
      -- sum' = ki (r - y), d' = (y - d) / filter; the slope is (y - d) / filter, or C A x without a filter
      local jump = 0
      for j = 1, n do jump = jump + C[j] * loop.B[j][1] end
      if filter == 0 and kd ~= 0 and jump ~= 0 then
        fail("panel: the input acts directly on the derivative of the output: give the pid a filter")
      end
      for j = 1, n do
        A[s][j] = -ki * C[j]
        K[1][j] = kp * C[j]
        if filter > 0 then
          A[d][j] = C[j] / filter
          K[1][j] = K[1][j] + kd / filter * C[j]
        else
          for k = 1, n do K[1][j] = K[1][j] + kd * C[k] * loop.A[k][j] end
        end
      end
      if filter > 0 then A[d][d], K[1][d] = -1 / filter, -kd / filter end
      K[1][s] = -1
      for i = 1, n do G[i] = B[i][1] * kp end
      G[s], G[d], G[p] = ki, 0, 0
    end
    -- drop states that have no effect
    local keep = {}
    for i = 1, n do keep[i] = i end
    if ki ~= 0 then keep[#keep + 1] = s end
    if kd ~= 0 and (dt or filter > 0) then keep[#keep + 1] = d end
    if kd ~= 0 and dt then keep[#keep + 1] = p end
    loop.A, loop.B, loop.K, loop.G, loop.C = zeros(#keep, #keep), {}, { {} }, {}, C
    for i, from in ipairs(keep) do
      for j, to in ipairs(keep) do loop.A[i][j] = A[from][to] end
      loop.B[i], loop.K[1][i], loop.G[i] = B[from], K[1][from], G[from]
      if i > n then C[i] = 0 end
    end
    loop.n = #keep
  end

  -- ---- Responses -----------------------------------------------------------------------------

  local function poles_of(A)
    if #A == 0 then return {} end
    local values, _, imaginary = sim.linalg.eig(sim.array(A))
    local list = {}
    for i = 1, #A do list[i] = { values[i], imaginary and imaginary[i] or 0 } end
    return list
  end

  local function closed(loop, factor)
    local A = {}
    for i = 1, loop.n do
      A[i] = {}
      for j = 1, loop.n do A[i][j] = loop.A[i][j] - factor * loop.B[i][1] * loop.K[1][j] end
    end
    return A
  end

  -- The open-loop response L = K (s I - A)^-1 B at s = i w, or at z = exp(i w dt), as re and im.
  local function open_loop(loop, w)
    local re, im = 0, w
    if loop.dt then re, im = math.cos(w * loop.dt), math.sin(w * loop.dt) end
    local xr, xi = resolve(loop.A, loop.B, re, im)
    if not xr then return nil end
    local sr, si = 0, 0
    for j = 1, loop.n do sr, si = sr + loop.K[1][j] * xr[j], si + loop.K[1][j] * xi[j] end
    return sr, si
  end

  -- Returns the rate of a pole (1/s) and its decay rate, which is negative if the mode grows.
  local function rates(loop, pole)
    local re, im = pole[1], pole[2]
    if loop.dt then
      local size = math.sqrt(re * re + im * im)
      if size == 0 then return math.pi / loop.dt, math.huge end
      local decay, turn = -math.log(size) / loop.dt, math.atan(im, re) / loop.dt
      return math.sqrt(decay * decay + turn * turn), decay
    end
    return math.sqrt(re * re + im * im), -re
  end

  local function range_of(loop, frequencies)
    if frequencies ~= nil then
      local good = type(frequencies) == "table" and host.finite(frequencies[1]) and host.finite(frequencies[2])
        and frequencies[1] > 0 and frequencies[2] > frequencies[1]
      if not good then
        fail("bad argument #3 to 'panel' (key 'range': {lo, hi} in rad/s expected, got %s)", describe(frequencies))
      end
      return frequencies[1], math.min(frequencies[2], loop.dt and math.pi / loop.dt or math.huge)
    end
    local lo, hi = math.huge, 0
    for _, list in ipairs { poles_of(loop.A), loop.poles } do
      for _, pole in ipairs(list) do
        local rate = rates(loop, pole)
        if rate > STILL then lo, hi = math.min(lo, rate), math.max(hi, rate) end
      end
    end
    if hi == 0 then lo, hi = 1, 1 end
    local top = loop.dt and math.pi / loop.dt or math.huge
    hi = math.min(hi * ABOVE, top)
    return math.min(lo / BELOW, hi / 100), hi
  end

  -- Finds the frequency between lo and hi at which f changes sign.
  local function bisect(f, lo, hi)
    local rising = f(lo) < 0
    for _ = 1, HALVINGS do
      local middle = math.sqrt(lo * hi)
      if (f(middle) < 0) == rising then lo = middle else hi = middle end
      if hi / lo - 1 < SAME then break end
    end
    return math.sqrt(lo * hi)
  end

  local function degrees(re, im) return math.deg(math.atan(im, re)) end

  local function frequency_response(loop, lo, hi)
    local w, magnitude, phase, last = {}, {}, {}, nil
    for k = 0, POINTS - 1 do
      local at = lo * (hi / lo) ^ (k / (POINTS - 1))
      local re, im = open_loop(loop, at)
      if re then
        local angle = degrees(re, im)
        if last then
          angle = angle + 360 * math.floor((last - angle) / 360 + 0.5)
        elseif angle > 90 then
          angle = angle - 360 -- phase lags are negative
        end
        last = angle
        w[#w + 1], magnitude[#magnitude + 1], phase[#phase + 1] = at, math.sqrt(re * re + im * im), angle
      end
    end
    return w, magnitude, phase
  end

  -- Finds the crossings at which abs(L) = 1 (with phase margins) and the crossings at which L is real and negative
  -- (with gain factors).
  local function margins(loop, w)
    local function size(at)
      local re, im = open_loop(loop, at)
      return re * re + im * im - 1
    end
    local function across(at) return select(2, open_loop(loop, at)) end
    local gains, phases = {}, {}
    local previous_size, previous_across
    for k, at in ipairs(w) do
      local re, im = open_loop(loop, at)
      local now = re * re + im * im - 1
      if previous_size and (previous_size < 0) ~= (now < 0) then
        local cross = bisect(size, w[k - 1], at)
        local margin = degrees(open_loop(loop, cross)) + 180
        phases[#phases + 1] = { w = cross, margin = margin > 180 and margin - 360 or margin }
      end
      if previous_across and (previous_across < 0) ~= (im < 0) then
        local cross = bisect(across, w[k - 1], at)
        local real = open_loop(loop, cross)
        if real < 0 then gains[#gains + 1] = { w = cross, factor = -1 / real } end
      end
      previous_size, previous_across = now, im
    end
    -- L is real at half the sampling rate
    if loop.dt and #w > 0 and math.abs(w[#w] * loop.dt - math.pi) < 1e-9 then
      local real = open_loop(loop, w[#w])
      local near = gains[#gains] and gains[#gains].w / w[#w] > 1 - 1e-6
      if real < 0 and not near then gains[#gains + 1] = { w = w[#w], factor = -1 / real } end
    end
    return gains, phases
  end

  local function summary(result, gains, phases)
    result.gain_margin, result.gain_reduction, result.phase_margin = math.huge, 0, math.huge
    for _, cross in ipairs(gains) do
      if cross.factor > 1 and cross.factor < result.gain_margin then
        result.gain_margin, result.w_gain = cross.factor, cross.w
      elseif cross.factor < 1 then
        result.gain_reduction = math.max(result.gain_reduction, cross.factor)
      end
    end
    for _, cross in ipairs(phases) do
      if math.abs(cross.margin) < math.abs(result.phase_margin) then
        result.phase_margin, result.w_phase = cross.margin, cross.w
      end
    end
    result.gain_crossings, result.phase_crossings = gains, phases
    -- shift the phases by whole turns, so that they are near -180 degrees at the frequency of the phase margin
    if not result.w_phase then return end
    local at = 1
    while result.w[at + 1] and result.w[at + 1] <= result.w_phase do at = at + 1 end
    local turn = 360 * math.floor((result.phase[at] - result.phase_margin + 180) / 360 + 0.5)
    for i, angle in ipairs(result.phase) do result.phase[i] = angle - turn end
  end

  -- ---- Step response ----------------------------------------------------------------------------

  -- exp([A G; 0 0] t) by scaling and squaring of the series. It gives the exact step of a linear system with constant
  -- r.
  local function exponential(M, t)
    local n = #M
    local norm = 0
    for i = 1, n do
      local sum = 0
      for j = 1, n do sum = sum + math.abs(M[i][j] * t) end
      norm = math.max(norm, sum)
    end
    local squarings = math.max(0, math.ceil(math.log(math.max(norm, 1e-300), 2)) + 2)
    local X = sim.array(M) * (t / 2 ^ squarings)
    local term, sum = sim.eye(n), sim.eye(n)
    for k = 1, 18 do -- for a norm of at most 1/4, the remainder is below 1e-26
      term = term:mm(X) / k
      sum = sum + term
    end
    for _ = 1, squarings do sum = sum:mm(sum) end
    return sum
  end

  local function step_response(loop, duration)
    local A, n = closed(loop, 1), loop.n
    -- long enough for the slowest pole to settle, or for an unstable pole to grow
    if duration == nil then
      local slowest, fastest = math.huge, 0
      for _, pole in ipairs(loop.poles) do
        local rate, decay = rates(loop, pole)
        if math.abs(decay) > STILL then slowest = math.min(slowest, math.abs(decay)) end
        if rate > STILL then fastest = math.max(fastest, rate) end
      end
      duration = slowest < math.huge and SETTLE / slowest or fastest > 0 and 10 * math.pi / fastest or 1
    elseif not host.finite(duration) or duration <= 0 then
      fail("bad argument #3 to 'panel' (key 'duration': seconds expected, got %s)", describe(duration))
    end
    local dt = loop.dt
    local M = zeros(n + 1, n + 1)
    for i = 1, n do
      for j = 1, n do M[i][j] = A[i][j] end
      M[i][n + 1] = loop.G[i]
    end
    if dt then
      M[n + 1][n + 1] = 1
      M = sim.array(M)
      duration = math.max(duration, 10 * dt)
    else
      dt = duration / STEP_POINTS
      M = exponential(M, dt)
    end
    local rows, x, t, y = M:table(), {}, {}, {}
    for i = 1, n do x[i] = 0 end
    x[n + 1] = 1
    for k = 0, math.min(STEP_MOST, math.ceil(duration / dt - 1e-9)) do
      local seen = 0
      for j = 1, n do seen = seen + loop.C[j] * x[j] end
      if not (math.abs(seen) < BEYOND) then break end
      t[#t + 1], y[#y + 1] = k * dt, seen
      local next = {}
      for i = 1, n + 1 do
        local sum = 0
        for j = 1, n + 1 do sum = sum + rows[i][j] * x[j] end
        next[i] = sum
      end
      x = next
    end
    return t, y
  end

  -- ---- Pictures ---------------------------------------------------------------------------------

  local function is_stable(loop, poles)
    for _, pole in ipairs(poles) do
      local _, decay = rates(loop, pole)
      if not (decay > 0) then return false end
    end
    return true
  end

  local function curve_plots(result)
    local decibels = {}
    for i, value in ipairs(result.magnitude) do decibels[i] = value > 0 and 20 * math.log(value, 10) or 0 / 0 end
    local x = { label = "frequency, rad/s", log = true }
    local up = { title = "Loop gain", x = x, y = "gain, dB", { result.w, decibels }, { y = 0 } }
    local turn = { title = "Loop phase", x = x, y = "phase, degrees", { result.w, result.phase }, { y = -180 } }
    -- margins are drawn at their frequencies
    if result.w_gain then
      up[#up + 1] = { x = result.w_gain, y = -20 * math.log(result.gain_margin, 10),
        text = ("%.1f dB"):format(20 * math.log(result.gain_margin, 10)) }
    end
    if result.w_phase then
      local at = 1
      while result.w[at + 1] and result.w[at] < result.w_phase do at = at + 1 end
      turn[#turn + 1] = { x = result.w_phase, y = result.phase[at], text = ("%.0f degrees"):format(result.phase_margin) }
    end
    local step = { title = "Step of the goal", x = "time, s", y = "output", { result.t, result.y }, { y = 1 } }
    return up, turn, step
  end

  local function pole_plot(result)
    local open_re, open_im, re, im = {}, {}, {}, {}
    for i, pole in ipairs(result.open_poles) do open_re[i], open_im[i] = pole[1], pole[2] end
    for i, pole in ipairs(result.poles) do re[i], im[i] = pole[1], pole[2] end
    local plot = { title = "Poles", x = "real part" .. (result.dt and "" or ", 1/s"), y = "imaginary part", equal = true }
    if result.dt then
      local c, s = {}, {}
      for k = 0, 180 do c[k + 1], s[k + 1] = math.cos(math.pi * k / 90), math.sin(math.pi * k / 90) end
      plot[1] = { c, s, color = "#9aa3b2" }
    else
      plot[1] = { x = 0 }
    end
    plot[#plot + 1] = { open_re, open_im, kind = "scatter", marker = "cross", label = "open" }
    plot[#plot + 1] = { re, im, kind = "scatter", marker = "circle", label = "closed" }
    return plot
  end

  local function grid_of(result, title)
    local up, turn, step = curve_plots(result)
    return sim.plot.grid { title = title, columns = 2, width = WIDTH, height = HEIGHT, up, step, turn, pole_plot(result) }
  end

  local function escaped(text) return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" })) end

  local function pole_text(result, pole)
    local rate, decay = rates(result, pole)
    local text = pole[2] == 0 and ("%.6g"):format(pole[1])
      or ("%.6g %s %.6g i"):format(pole[1], pole[2] < 0 and "-" or "+", math.abs(pole[2]))
    return text, ("%.4g"):format(rate), decay == math.huge and "1" or rate > 0 and ("%.3f"):format(decay / rate) or "0"
  end

  local STYLE = [[body{font:15px/1.5 Helvetica,Arial,sans-serif;color:#2e3440;background:#fcfbf8;margin:24px auto;max-width:1000px}
table{border-collapse:collapse;margin:8px 32px 8px 0;display:inline-table;vertical-align:top}
th,td{padding:2px 12px 2px 0;text-align:left}th{border-bottom:1px solid #c9ccd3}svg{max-width:100%;height:auto}]]

  local function rows_of(list)
    local out = {}
    for _, row in ipairs(list) do
      local cells = {}
      for i, cell in ipairs(row) do cells[i] = ("<td>%s</td>"):format(escaped(tostring(cell))) end
      out[#out + 1] = "<tr>" .. table.concat(cells) .. "</tr>"
    end
    return table.concat(out, "\n")
  end

  -- Makes an HTML page from fragments.
  function host.page(title, ...)
    return ([[<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%s</title><style>%s</style></head><body>
%s
</body></html>
]]):format(escaped(title), STYLE, table.concat({ ... }, "\n"))
  end

  -- Makes an HTML table; `head` is a list of column titles.
  function host.page_table(head, rows)
    local cells = {}
    for i, cell in ipairs(head) do cells[i] = ("<th>%s</th>"):format(escaped(cell)) end
    return ("<table><tr>%s</tr>%s</table>"):format(table.concat(cells), rows_of(rows))
  end
  host.page_text = escaped

  local function page_of(result, title, gains)
    local function decibel(value) return ("%.2f dB (times %.4g)"):format(20 * math.log(value, 10), value) end
    local facts = { { "closed loop", result.stable and "stable" or "not stable" },
      { "gain margin", result.w_gain and decibel(result.gain_margin) .. (" at %.4g rad/s"):format(result.w_gain) or "none" },
      { "gain may fall to", result.gain_reduction > 0 and decibel(result.gain_reduction) or "0" },
      { "phase margin", result.w_phase and ("%.2f degrees at %.4g rad/s"):format(result.phase_margin, result.w_phase) or "none" },
      { "overshoot", result.overshoot and ("%.1f %%"):format(100 * result.overshoot) or "none" },
      { "within 2 % after", result.settled and ("%.4g s"):format(result.settled) or "never" } }
    local poles = {}
    for i, pole in ipairs(result.poles) do poles[i] = { pole_text(result, pole) } end
    return host.page(title, result.plot:svg(), host.page_table({ "Loop", "" }, facts), host.page_table({ "Gain", "" }, gains),
      host.page_table({ "Closed pole", "rad/s", "damping" }, poles))
  end

  -- ---- Entry point ------------------------------------------------------------------------------

  function host.check_panel_keys(what, def, known)
    if type(def) ~= "table" then fail("bad argument to '%s' (table expected, got %s)", what, describe(def)) end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not known[key] then
        local names = host.sorted_keys(known)
        local near = type(key) == "string" and host.nearest(key, names)
        fail("bad argument to '%s' (unknown key '%s'%s)", what, tostring(key),
          near and ("; did you mean '%s'?"):format(near) or "; known: " .. table.concat(names, ", "))
      end
    end
  end

  local function gains_list(law, K)
    local list = {}
    if K == nil then
      for _, key in ipairs { "kp", "ki", "kd", "filter" } do list[#list + 1] = { key, ("%.6g"):format(law[key] or 0) } end
    else
      for j, value in ipairs(K) do list[j] = { "k" .. j, ("%.6g"):format(value) } end
    end
    return list
  end

  -- Returns the overshoot beyond 1, and the time after which the response stays within 2 %.
  local function judge_step(result)
    local last = #result.y
    if not result.stable or last == 0 or math.abs(result.y[last] - 1) > 0.02 then return end
    local most = 0
    for _, value in ipairs(result.y) do most = math.max(most, value - 1) end
    result.overshoot = most
    local at = last
    while at > 1 and math.abs(result.y[at - 1] - 1) <= 0.02 do at = at - 1 end
    result.settled = result.t[at]
  end

  local KEYS = { path = true, title = true, output = true, input = true, coordinates = true, period = true, duration = true,
    range = true }

  -- sim.control.panel(law or gains, model [, { path =, ... }])
  function control.panel(law, model, def)
    def = def or {}
    host.check_panel_keys("panel", def, KEYS)
    local is_law = type(law) == "table" and getmetatable(law) ~= nil
    local function of(key) return type(law) == "table" and host.field(law, key) or nil end
    local kp, ki, kd, filter = of "kp", of "ki", of "kd", of "filter"
    local around = is_law and of "law" and not of "K" and not kp
    if around then fail("panel: a filter or limiter has no gains: give the law inside it, %s", tostring(law.law)) end
    local loop = read_model(model, def, is_law and law or nil)
    local gains
    if kp or ki or kd then
      if not is_law then host.check_panel_keys("panel: gains", law, { kp = true, ki = true, kd = true, filter = true }) end
      pid(loop, { kp = kp or 0, ki = ki or 0, kd = kd or 0, filter = filter, actuator = is_law and of "actuator" or nil }, def)
      gains = gains_list({ kp = kp, ki = ki, kd = kd, filter = filter })
    elseif is_law and of "gains" or not (type(law) == "number" or type(law) == "table" or getmetatable(law) == "Array") then
      fail("bad argument #1 to 'panel' (a pid, a regulator without a horizon, or gains, expected, got %s)", describe(law))
    else
      local K = law
      if is_law and of "K" then K = law.K elseif is_law then
        fail("bad argument #1 to 'panel' (a pid, a regulator, or gains, expected, got %s)", tostring(law))
      end
      feedback(loop, K, def)
      gains = gains_list(nil, loop.K[1])
    end
    -- the results
    loop.poles = poles_of(closed(loop, 1))
    local result = { dt = loop.dt, poles = loop.poles, open_poles = poles_of(loop.A) }
    result.stable = is_stable(loop, loop.poles)
    result.w, result.magnitude, result.phase = frequency_response(loop, range_of(loop, def.range))
    summary(result, margins(loop, result.w))
    result.t, result.y = step_response(loop, def.duration)
    judge_step(result)
    function result.closed_poles(factor) return poles_of(closed(loop, factor)) end
    local title = def.title or "Loop"
    result.plot = grid_of(result, title)
    if def.path ~= nil then
      if type(def.path) ~= "string" or not def.path:find "%.html$" then
        fail("bad argument #3 to 'panel' (key 'path': a name that ends with .html expected, got %s)", describe(def.path))
      end
      local good, why = host.write_file(def.path, page_of(result, title, gains))
      if not good then return nil, why end
    end
    return result
  end
end
