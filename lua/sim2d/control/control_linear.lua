-- sim.control: laws and observers of linear systems x+ = A x + B u: lqr, place, kalman.

local UNSTABLE = 1 - 1e-9  -- a mode with at least this modulus counts as not decaying
-- a mode s is controllable if the smallest singular value of [A - s I, B] exceeds this fraction of the largest one
local REACHED = 1e-9
local NEAR = 1e-7          -- relative distance below which poles count as equal

return function(sim, host)
  local control, linalg = sim.control, sim.linalg
  local bad_key, read_measure = host.bad_law_key, host.law_measure
  local Law = host.Law

  local function is_number(value) return type(value) == "number" or getmetatable(value) == "Tracked" end
  local function plain(value) return getmetatable(value) == "Tracked" and value:value() or value end

  local function read(what, name, value)
    local good, a = pcall(sim.array, is_number(value) and { { value } } or value)
    if not good or value == nil then
      host.fail("bad argument to '%s' (%s: matrix expected, got %s)", what, name, host.describe(value))
    end
    local flat = sim.stop_gradient(a):reshape(a.size):table()
    for i = 1, #flat do
      if not host.finite(flat[i]) then
        host.fail("bad argument to '%s' (%s: number %d is not finite)", what, name, i)
      end
    end
    return a
  end

  local function shape(a) return table.concat(a.shape, " x ") end

  local function read_square(what, name, value)
    local a = read(what, name, value)
    if #a.shape ~= 2 or a.shape[1] ~= a.shape[2] then
      host.fail("bad argument to '%s' (%s: square matrix expected, got %s)", what, name, shape(a))
    end
    return a, a.shape[1]
  end

  -- Reads an n x m matrix. A list of n numbers is a single column.
  local function read_columns(what, name, value, n)
    local a = read(what, name, value)
    if #a.shape == 1 then a = a:reshape(a.size, 1) end
    if a.shape[1] ~= n then
      host.fail("bad argument to '%s' (%s: %d rows expected, got %s)", what, name, n, shape(a))
    end
    return a, a.shape[2]
  end

  -- Reads an m x n matrix. A list of n numbers is a single row.
  local function read_rows(what, name, value, n)
    local a = read(what, name, value)
    if #a.shape == 1 then a = a:reshape(1, a.size) end
    if a.shape[2] ~= n then
      host.fail("bad argument to '%s' (%s: %d columns expected, got %s)", what, name, n, shape(a))
    end
    return a, a.shape[1]
  end

  -- Reads a symmetric weight of n numbers, given as a matrix, as its diagonal, or as one number for all. `least` is 0
  -- for a positive semidefinite weight and 1 for a positive definite weight.
  local function read_weight(what, name, value, n, least)
    local a
    if is_number(value) then
      a = sim.eye(n) * value
    else
      a = read(what, name, value)
      if #a.shape == 1 and a.size == n then a = sim.eye(n) * a end
      if #a.shape ~= 2 or a.shape[1] ~= n or a.shape[2] ~= n then
        host.fail("bad argument to '%s' (%s: %d x %d expected, or its diagonal, got %s)", what, name, n, n, shape(a))
      end
    end
    a = (a + a:t()) / 2
    local plain = sim.stop_gradient(a)
    local values = linalg.eig(plain)
    local smallest, largest = math.huge, 0
    for i = 1, n do
      smallest, largest = math.min(smallest, values[i]), math.max(largest, math.abs(values[i]))
    end
    if least == 1 and not (smallest > 0) then
      host.fail("bad argument to '%s' (%s is not positive definite: its least eigenvalue is %.3g)", what, name, smallest)
    elseif smallest < -1e-12 * largest then
      host.fail("bad argument to '%s' (%s has a negative eigenvalue, %.3g)", what, name, smallest)
    end
    return a
  end

  host.weight = read_weight

  -- ---- Modes ------------------------------------------------------------------------------------

  -- Returns the eigenvalues as {re, im, modulus}, with both values of each complex pair.
  local function modes_of(A)
    local values, _, imaginary = linalg.eig(sim.stop_gradient(A))
    local list = {}
    for i = 1, A.shape[1] do
      local im = imaginary and imaginary[i] or 0
      list[i] = { values[i], im, math.sqrt(values[i] ^ 2 + im ^ 2) }
    end
    return list
  end

  local function mode_text(mode)
    return mode[2] == 0 and ("%.6g"):format(mode[1]) or ("%.6g %s %.6g i"):format(mode[1],
      mode[2] < 0 and "-" or "+", math.abs(mode[2]))
  end

  -- Hautus test of the mode s: returns nil if rank [A - s I, B] = n. Otherwise returns the index of the component of x
  -- with the largest share in the mode.
  local function unreached(A, B, mode)
    local n, m = A.shape[1], B.shape[2]
    local complex = mode[2] ~= 0
    local size = complex and 2 * n or n
    local M = {}
    for i = 1, size do
      M[i] = {}
      for j = 1, (complex and 2 or 1) * (n + m) do M[i][j] = 0 end
    end
    -- the complex number a + b i becomes the matrix (a, -b; b, a)
    for i = 1, n do
      for j = 1, n do
        local re = A[i][j] - (i == j and mode[1] or 0)
        M[i][j] = re
        if complex then M[n + i][n + j] = re end
      end
      for j = 1, m do
        M[i][(complex and 2 * n or n) + j] = B[i][j]
        if complex then M[n + i][2 * n + m + j] = B[i][j] end
      end
      if complex then M[i][n + i], M[n + i][i] = mode[2], -mode[2] end
    end
    local U, s = linalg.svd(sim.array(M))
    if s[size] > REACHED * s[1] then return nil end
    -- find the component of x with the largest share in the mode
    local best, where = -1, 1
    for i = 1, n do
      local part = math.abs(U[i][size]) + (complex and math.abs(U[n + i][size]) or 0)
      if part > best + 1e-9 then best, where = part, i end
    end
    return where
  end

  -- Raises an error if a mode that does not decay cannot be controlled by the inputs.
  local function check_stabilisable(what, A, B, reach, verb)
    A, B = sim.stop_gradient(A), sim.stop_gradient(B)
    for _, mode in ipairs(modes_of(A)) do
      if mode[3] >= UNSTABLE then
        local where = unreached(A, B, mode)
        if where then
          host.fail("%s: the mode %s, mainly component %d of x, does not decay and is not %s by %s", what,
            mode_text(mode), where, verb, reach)
        end
      end
    end
  end

  local function poles_of(A)
    local list = {}
    for i, mode in ipairs(modes_of(A)) do list[i] = mode[2] == 0 and mode[1] or { mode[1], mode[2] } end
    return list
  end

  -- ---- LQR --------------------------------------------------------------------------------------

  -- `pending`: number of delayed commands per input, for actuators with delays.
  local Lqr = host.law_class({ kind = "lqr", memory = { "began", "past", "asked" } },
    { "coordinates", "gains", "names", "rows", "sampling", "pending", "under_way", "clips" })

  -- Returns the gains over a horizon, ordered by step, and the cost-to-go at its start.
  local function finite(A, B, Q, R, N, P, steps)
    local gains = {}
    for k = steps, 1, -1 do
      local BP = B:t():mm(P)
      local M = BP:mm(A)
      if N then M = M + N:t() end
      local K, why = linalg.solve(BP:mm(B) + R, M)
      if not K then host.fail("lqr: R + B'P B is singular at step %d (%s)", k, tostring(why)) end
      local next = Q + A:t():mm(P:mm(A)) - M:t():mm(K)
      P, gains[k] = (next + next:t()) / 2, K
    end
    return gains, P
  end

  local function solve_lqr(A, B, Q, R, N, horizon, Qf)
    if horizon then
      local gains, P = finite(A, B, Q, R, N, Qf, horizon)
      return gains[1], P, gains
    end
    -- the substitution u = v - R^-1 N' x removes the cross term
    local back = N and linalg.solve(R, N:t())
    local A0, Q0 = N and A - B:mm(back) or A, N and Q - N:mm(back) or Q
    check_stabilisable("lqr", A, B, "the inputs", "reached")
    local K, P = linalg.lqr(A0, B, Q0, R)
    if not K then host.fail("lqr: %s", P) end
    return N and K + back or K, P
  end

  local function as_list(x, n)
    if getmetatable(x) == "Array" then x = x:reshape(x.size):table() end
    if is_number(x) then x = { x } end
    if #x ~= n then host.fail("lqr: the law measures %d numbers, but its x has %d", #x, n) end
    return x
  end

  function Lqr:gain(t)
    if not self.gains then return self.K end
    self.began = self.began or t
    local k = math.floor((t - self.began) / self.period + 0.5) + 1
    return self.gains[math.max(1, math.min(k, #self.gains))]
  end

  -- Delayed commands are part of the state. They are ordered by input, and the newest command comes first. A second
  -- call at the same time replaces the command of the first call.
  local function with_past(law, x, t)
    x = table.move(as_list(x, law.states - law.under_way), 1, law.states - law.under_way, 1, {})
    local past = law.past
    for j, count in ipairs(law.pending) do
      for k = 1, count do x[#x + 1] = past and past[j][law.asked == t and k + 1 or k] or law.u0[j] end
    end
    return x
  end

  local function note(law, u, t)
    local past = {}
    for j, count in ipairs(law.pending) do
      local old, first = law.past and law.past[j] or {}, law.asked == t and 2 or 1
      past[j] = { host.law_clip(plain(u[j]), law.clips[j]) }
      for k = 1, count do past[j][k + 1] = old[k + first - 1] or law.u0[j] end
    end
    law.past, law.asked = past, t
  end

  -- The gain is stored as lists, because products of a few numbers are faster with lists than with arrays.
  function Lqr:command(world, t)
    local x, x0, u0, rows = self.measure(world), self.x0, self.u0, self.rows
    if self.gains or not rows then
      rows = self:gain(t):table()
      if not self.gains then self.rows = rows end
    end
    if self.pending then x = with_past(self, x, t) end
    if type(x) ~= "table" or getmetatable(x) or #x ~= self.states then x = as_list(x, self.states) end
    local u, n = {}, self.states
    for i = 1, #rows do
      local row, sum = rows[i], u0[i]
      for j = 1, n do sum = sum - row[j] * (x[j] - x0[j]) end
      u[i] = sum
    end
    if self.pending then note(self, u, t) end
    if self.names then
      local named = {}
      for i, name in ipairs(self.names) do named[name] = u[i] end
      return named
    end
    return u
  end

  local function read_horizon(what, horizon)
    if horizon == nil then return nil end
    if not host.whole(horizon) or horizon < 1 then
      bad_key(what, "horizon", "a number of steps, at least 1", horizon)
    end
    return horizon
  end

  local function zeros(n)
    local list = {}
    for i = 1, n do list[i] = 0 end
    return list
  end

  local function make_lqr(A, B, Q, R, N, options)
    local n, m = A.shape[1], B.shape[2]
    Q, R = read_weight("lqr", "Q", Q, n, 0), read_weight("lqr", "R", R, m, 1)
    if N ~= nil then
      N = read_columns("lqr", "N", N, n)
      if N.shape[2] ~= m then host.fail("bad argument to 'lqr' (N: %d x %d expected, got %s)", n, m, shape(N)) end
    end
    local Qf = options.horizon and (options.Qf and read_weight("lqr", "Qf", options.Qf, n, 0) or Q)
    local K, P, gains = solve_lqr(A, B, Q, R, N, options.horizon, Qf)
    return setmetatable({ A = A, B = B, K = K, P = P, gains = gains, poles = poles_of(A - B:mm(K)), states = n,
      x0 = zeros(n), u0 = zeros(m), measure = read_measure("lqr", options.measure), period = options.period or 1,
      sampling = options.period }, Lqr)
  end

  -- Reads coordinates of a world in the order of world:linearize: values, then speeds.
  local SPEEDS = { angle = "angular_velocity", x = "vx", y = "vy" }
  local function coordinate_reader(list)
    local objects, fields, n = {}, {}, #list
    for i, of in ipairs(list) do
      objects[i], objects[n + i] = of.joint or of.body, of.joint or of.body
      fields[i] = of.field
      fields[n + i] = of.body and SPEEDS[of.field] or "speed"
    end
    return function()
      local x = {}
      for i = 1, 2 * n do x[i] = objects[i][fields[i]] end
      return x
    end
  end
  host.coordinate_reader = coordinate_reader

  local OF_WORLD = { coordinates = true, inputs = true, Q = true, R = true, N = true, Qf = true, horizon = true, period = true }

  local EARLY = 1e-6 -- tolerance for rounding in sums of dt, as a fraction of a step

  -- Returns the number of steps per command, and the length of this period in s.
  local function read_period(world, def)
    local dt, period = sim.stop_gradient(world.dt), def.period
    if period == nil then return 1, dt end
    local steps = host.finite(period) and math.floor(period / dt + 0.5) or 0
    if steps < 1 or math.abs(steps * dt - period) > EARLY * dt * steps then
      bad_key("lqr", "period", ("a multiple of the world's dt (%g s)"):format(dt), period)
    end
    return steps, steps * dt
  end

  -- Returns A^k and the sum of A^i for i < k, for all k from 0 to `steps`.
  local function powers_of(A, steps)
    local n = A.shape[1]
    local powers, sums = { [0] = sim.eye(n) }, { [0] = sim.zeros(n, n) }
    for k = 1, steps do powers[k], sums[k] = A:mm(powers[k - 1]), sums[k - 1] + powers[k - 1] end
    return powers, sums
  end

  -- Converts a step x+ = A x + B u to a period of `steps` steps with constant commands. Input j is delayed by late[j]
  -- steps. Returns A and B of the state extended by the delayed commands, and the number of delayed commands for each
  -- input.
  local function sampled(A, B, steps, late)
    local n, m = A.shape[1], B.shape[2]
    local powers, sums = powers_of(A, steps)
    local pending, size = {}, n
    for j = 1, m do
      pending[j] = (late[j] + steps - 1) // steps
      size = size + pending[j]
    end
    -- first rows: [A^steps, effect of the delayed commands within the period]
    local top, inputs, below, at = { powers[steps] }, {}, {}, n
    for j = 1, m do
      local b, whole, rest = B:column(j):reshape(n, 1), late[j] // steps, late[j] % steps
      -- the previous command acts for the first `rest` steps, the next command for the remaining steps
      local before, after = powers[steps - rest]:mm(sums[rest]:mm(b)), sums[steps - rest]:mm(b)
      local columns = {}
      for k = 1, pending[j] do
        columns[k] = k == whole + 1 and rest > 0 and before or k == whole and after or sim.zeros(n, 1)
      end
      inputs[j] = whole == 0 and after or sim.zeros(n, 1)
      for k = 1, pending[j] do
        top[#top + 1] = columns[k]
        local row, u = zeros(size), zeros(m)
        if k == 1 then u[j] = 1 else row[at + k - 1] = 1 end
        below[#below + 1] = { row, u }
      end
      at = at + pending[j]
    end
    local rows, us = { sim.concat(top, 2) }, { sim.concat(inputs, 2) }
    for _, entry in ipairs(below) do
      rows[#rows + 1], us[#us + 1] = sim.array { entry[1] }, sim.array { entry[2] }
    end
    return sim.concat(rows, 1), sim.concat(us, 1), pending
  end

  -- Extends a weight of x with zeros for the delayed commands.
  local function padded(what, name, value, n, size)
    if size == n then return value end
    local corner = read_weight(what, name, value, n, 0)
    return sim.concat({ sim.concat({ corner, sim.zeros(n, size - n) }, 2), sim.zeros(size - n, size) }, 1)
  end

  -- Returns the inputs in the form that world:linearize accepts, their delays in steps, and their ranges.
  local function read_inputs(world, list)
    local inputs, late, clips, dt = {}, {}, {}, sim.stop_gradient(world.dt)
    for i, input in ipairs(list) do
      inputs[i], late[i] = input, 0
      if getmetatable(input) == "Actuator" and input.delay > 0 then
        inputs[i], late[i] = host.input_when_due(input), math.ceil(input.delay / dt - EARLY)
        clips[i] = { plain(input.range[1]), plain(input.range[2]) }
      end
    end
    return inputs, late, clips
  end

  local function lqr_of_world(world, def)
    host.check_law_keys("lqr", def, OF_WORLD)
    local given = def.inputs or host.actuators(world)
    if #given == 0 then
      host.fail("lqr: the world has no actuators and no inputs are given; declare one: world:actuator { ... }")
    end
    local steps, period = read_period(world, def)
    local inputs, late, clips = read_inputs(world, given)
    local A, B, list = world:linearize { inputs = inputs, coordinates = def.coordinates or "reduced" }
    local pending
    local n, N = A.shape[1], def.N
    A, B, pending = sampled(A, B, steps, late)
    local size = A.shape[1]
    if N ~= nil and size > n then N = sim.concat({ read_columns("lqr", "N", N, n), sim.zeros(size - n, #inputs) }, 1) end
    local law = make_lqr(A, B, padded("lqr", "Q", def.Q == nil and 1 or def.Q, n, size), def.R == nil and 1 or def.R, N,
      { horizon = read_horizon("lqr", def.horizon), Qf = def.Qf and padded("lqr", "Qf", def.Qf, n, size), period = period })
    law.coordinates, law.measure = list, list and coordinate_reader(list) or function(w) return w:state() end
    law.x0 = law.measure(world)
    -- the law returns commands by name if all inputs are actuators
    local names = {}
    for i, input in ipairs(given) do names[i] = getmetatable(input) == "Actuator" and input.name or nil end
    law.names = #names == #inputs and names or nil
    if law.names then for i, input in ipairs(given) do law.u0[i] = input.value end end
    if size > n then
      law.pending, law.under_way, law.clips = pending, size - n, clips
      for j, count in ipairs(pending) do
        for _ = 1, count do law.x0[#law.x0 + 1] = law.u0[j] end
      end
    end
    return law
  end

  -- sim.control.lqr(A, B, Q, R [, N] [, { horizon=, Qf=, measure=, period= }]) or lqr(world, { ... }): the law
  -- u = u0 - K (x - x0).
  function control.lqr(A, B, Q, R, N, options)
    if getmetatable(A) == "World" then return lqr_of_world(A, B) end
    if options == nil and type(N) == "table" and getmetatable(N) == nil and #N == 0 and next(N) ~= nil then
      N, options = nil, N
    end
    options = options or {}
    host.check_law_keys("lqr", options, { horizon = true, Qf = true, measure = true, period = true })
    local n
    A, n = read_square("lqr", "A", A)
    B = read_columns("lqr", "B", B, n)
    options.horizon = read_horizon("lqr", options.horizon)
    return make_lqr(A, B, Q, R, N, options)
  end

  -- ---- Pole placement ---------------------------------------------------------------------------

  -- The requested poles as blocks of a real matrix: a number for each real pole, {re, im} for each complex pair.
  local function read_poles(poles, n)
    if type(poles) ~= "table" then
      host.fail("bad argument #3 to 'place' (list of %d poles expected, got %s)", n, host.describe(poles))
    end
    local list, count = {}, 0
    for i = 1, #poles do
      local pole = poles[i]
      local re, im = pole, 0
      if type(pole) == "table" then re, im = pole[1], pole[2] end
      if not host.finite(re) or not host.finite(im) then
        host.fail("bad argument #3 to 'place' (pole %d: a number or a pair {re, im} expected, got %s)", i,
          host.describe(pole))
      end
      list[#list + 1] = { re, math.abs(im), im }
      count = count + 1
    end
    if count ~= n then host.fail("bad argument #3 to 'place' (%d poles expected, got %d)", n, count) end
    -- complex poles must come in conjugate pairs
    local blocks, open = {}, {}
    for _, pole in ipairs(list) do
      if pole[2] == 0 then
        blocks[#blocks + 1] = { pole[1], 0 }
      else
        local partner
        for k, other in ipairs(open) do
          if other[1] == pole[1] and other[3] == -pole[3] then partner = k end
        end
        if partner then
          table.remove(open, partner)
          blocks[#blocks + 1] = { pole[1], pole[2] }
        else
          open[#open + 1] = pole
        end
      end
    end
    if open[1] then
      host.fail("bad argument #3 to 'place' (the conjugate of the pole %s is missing)",
        mode_text { open[1][1], open[1][3] })
    end
    table.sort(blocks, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
    return blocks
  end

  -- Returns a real matrix with these poles. Equal poles form a Jordan chain, so that one input can place them.
  local function wanted_matrix(blocks, n)
    local L, at, before = {}, 1, nil
    for i = 1, n do L[i] = zeros(n) end
    for _, block in ipairs(blocks) do
      local size = block[2] == 0 and 1 or 2
      for k = 0, size - 1 do L[at + k][at + k] = block[1] end
      if size == 2 then L[at][at + 1], L[at + 1][at] = block[2], -block[2] end
      if before and math.abs(before[1] - block[1]) < NEAR and math.abs(before[2] - block[2]) < NEAR then
        for k = 0, size - 1 do L[at - size + k][at + k] = 1 end
      end
      at, before = at + size, block
    end
    return sim.array(L)
  end

  -- Solves A X - X L = B G for X as n^2 linear equations.
  local function sylvester(A, L, C)
    local n = A.shape[1]
    local M, b = {}, {}
    for i = 1, n do
      for j = 1, n do
        local row = zeros(n * n)
        for k = 1, n do
          row[(k - 1) * n + j] = row[(k - 1) * n + j] + A[i][k]
          row[(i - 1) * n + k] = row[(i - 1) * n + k] - L[k][j]
        end
        M[#M + 1], b[#b + 1] = row, C[i][j]
      end
    end
    local x = linalg.solve(sim.array(M), sim.array(b))
    return x and x:reshape(n, n)
  end

  -- Pseudo-random numbers from -1 to 1 that are the same in every run and do not use sim.random (Knuth's multiplier).
  local function numbers_of(seed)
    return function()
      seed = seed * 6364136223846793005 + 1442695040888963407
      return (seed >> 11) * 2.0 ^ -52 - 1
    end
  end

  local TRIES = 30 -- number of matrices G to try; the one with the best conditioned X is used

  -- Returns K such that A - B K has these poles (numbers, or pairs {re, im} with their conjugates). Bhattacharyya and
  -- de Souza (1982) solve A X - X L = B G for a chosen G; then K = G X^-1. With several inputs K is not unique, and the
  -- best conditioned of several choices is used.
  function control.place(A, B, poles)
    local n, m
    A, n = read_square("place", "A", sim.stop_gradient(A))
    B, m = read_columns("place", "B", sim.stop_gradient(B), n)
    for _, mode in ipairs(modes_of(A)) do
      local where = unreached(A, B, mode)
      if where then
        host.fail("place: the mode %s, mainly component %d of x, is not reached by the inputs and cannot be moved",
          mode_text(mode), where)
      end
    end
    local L = wanted_matrix(read_poles(poles, n), n)
    -- attempts after the first apply a preliminary feedback K0, in case a wanted pole is already a pole of A
    local number = numbers_of(1)
    local best, K
    for try = 1, TRIES do
      local G, K0 = {}, {}
      for i = 1, m do
        G[i], K0[i] = {}, {}
        for j = 1, n do
          G[i][j] = m == 1 and try == 1 and 1 or number()
          K0[i][j] = number()
        end
      end
      G, K0 = sim.array(G), sim.array(K0) * (try == 1 and 0 or 1)
      local X = sylvester(A - B:mm(K0), L, B:mm(G))
      local _, s
      if X then _, s = linalg.svd(X) end
      local condition = s and s[n] > 0 and s[1] / s[n] or math.huge
      if condition < math.huge and (not best or condition < best) then
        local inner = linalg.solve(X:t(), G:t())
        if inner then best, K = condition, inner:t() + K0 end
      end
      if m == 1 and best and best < 1e6 then break end
    end
    if not K then host.fail("place: no gain was found (a pole may be repeated more often than there are inputs)") end
    return K
  end

  -- ---- Kalman filter ----------------------------------------------------------------------------

  local Kalman = host.close_class({ kind = "kalman", memory = { "x" } }, "Observer", { "B", "x" }, Law)
  Kalman.__tostring, Kalman.__name = Law.__tostring, "Observer"

  -- The steady Kalman filter of x+ = A x + B u + w, y = C x + v with covariances W of w and V of v. Returns the gain L
  -- of the measurement (x += L (y - C x)) and the covariance P before the measurement.
  function control.kalman(A, C, W, V, B)
    local n, p
    A, n = read_square("kalman", "A", A)
    C, p = read_rows("kalman", "C", C, n)
    W, V = read_weight("kalman", "W", W, n, 0), read_weight("kalman", "V", V, p, 1)
    if B ~= nil then B = read_columns("kalman", "B", B, n) end
    check_stabilisable("kalman", A:t(), C:t(), "the measurements", "seen")
    local K, P = linalg.lqr(A:t(), C:t(), W, V)
    if not K then
      host.fail("kalman: %s", (P:gsub("no regulator: ", "no filter: "):gsub("reached by the inputs", "seen by the measurements")
        :gsub("weighted by Q", "excited by W")))
    end
    -- the predictor has the gain K' = A L, and the filter has the gain L = P C' (C P C' + V)^-1
    local PC = P:mm(C:t())
    local L = linalg.solve(C:mm(PC) + V, PC:t()):t()
    return setmetatable({ A = A, B = B, C = C, L = L, P = P, states = n, outputs = p, x = zeros(n),
      poles = poles_of((sim.eye(n) - L:mm(C)):mm(A)) }, Kalman)
  end

  local function vector(what, name, value, n)
    local a = is_number(value) and sim.array { value } or sim.array(value)
    if a.size ~= n then host.fail("%s: %s has %d numbers, %d expected", what, name, a.size, n) end
    return a:reshape(n)
  end

  -- Corrects the estimate with the measurement y; x is a list.
  function Kalman:correct(y)
    local x = sim.array(self.x)
    x = x + self.L:mm(vector("kalman", "y", y, self.outputs) - self.C:mm(x))
    self.x = x:table()
    return self.x
  end

  -- Predicts the state after a step with u.
  function Kalman:predict(u)
    local x = self.A:mm(sim.array(self.x))
    if u ~= nil then
      if not self.B then host.fail("kalman: u is given, but the filter has no B (kalman(A, C, W, V, B))") end
      x = x + self.B:mm(vector("kalman", "u", u, self.B.shape[2]))
    end
    self.x = x:table()
    return self.x
  end

  -- Predicts with the u applied since the last update, then corrects with y.
  function Kalman:update(y, u)
    self:predict(u)
    return self:correct(y)
  end

  Kalman.__call = function(self, y, u) return self:update(y, u) end
end
