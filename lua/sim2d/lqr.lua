-- sim.linalg.lqr: the linear regulator of a discrete system. It uses the structure-preserving doubling algorithm of
-- Chu, Fan, Lin and Wang (2004). Each pass doubles the number of steps of the Riccati iteration.

local MOST_PASSES = 64  -- 64 passes are 2^64 steps of the iteration
local SETTLED = 1e-14   -- relative change of a pass at the level of rounding errors
local RESIDUAL = 1e-6   -- largest relative residual of the Riccati equation

return function(sim, host)
  local linalg = sim.linalg

  local function is_number(value) return type(value) == "number" or getmetatable(value) == "Tracked" end

  local function read(name, value, what)
    local ok, a = pcall(sim.array, is_number(value) and { value } or value)
    if ok then return a end
    host.fail("bad argument to 'lqr' (%s: %s expected, got %s)", name, what, host.describe(value))
  end

  local function shape(a) return table.concat(a.shape, " x ") end

  -- A weight of n numbers: one number for all, or a list with one for each.
  local function read_weight(name, value, n)
    local a = read(name, value, "matrix, list or number")
    if is_number(value) then return sim.eye(n) * value end
    if #a.shape == 1 and a.size == n then return sim.eye(n) * a end
    if #a.shape ~= 2 or a.shape[1] ~= n or a.shape[2] ~= n then
      host.fail("bad argument to 'lqr' (%s: %d x %d expected, or its diagonal, got %s)", name, n, n, shape(a))
    end
    return (a + a:t()) / 2
  end

  local function read_system(A, B)
    A, B = read("A", A, "square matrix"), read("B", B, "matrix, or list for one input")
    local n = A.shape[1]
    if #A.shape ~= 2 or A.shape[2] ~= n then
      host.fail("bad argument to 'lqr' (A: square matrix expected, got %s)", shape(A))
    end
    if #B.shape == 1 then B = B:reshape(B.size, 1) end
    if B.shape[1] ~= n then
      host.fail("bad argument to 'lqr' (B: %d rows expected, as in A, got %d)", n, B.shape[1])
    end
    return A, B, n, B.shape[2]
  end

  local function size(a) return sim.stop_gradient(a):norm() end

  -- Returns the gain and the cost-to-go of one step, given the cost-to-go P after it.
  local function riccati_step(A, B, Q, R, P)
    local BP = B:t():mm(P)
    local K, why = linalg.solve(BP:mm(B) + R, BP:mm(A))
    if not K then return nil, why end
    local next = Q + A:t():mm(P:mm(A - B:mm(K)))
    return K, (next + next:t()) / 2
  end

  local function doubling(A, G, H, n)
    local change = math.huge
    for _ = 1, MOST_PASSES do
      local W = sim.eye(n) + G:mm(H)
      local WA, WG = linalg.solve(W, A), linalg.solve(W, G)
      if not (WA and WG) then return nil end
      local more = A:t():mm(H:mm(WA))
      G, H, A = G + A:mm(WG:mm(A:t())), H + (more + more:t()) / 2, A:mm(WA)
      local before = change
      change = size(more) / size(H)
      if change ~= change or size(H) == math.huge then return nil end
      if change <= SETTLED or (change < 1e-10 and change >= before) then return H end
    end
  end

  function linalg.lqr(A, B, Q, R)
    local n, m
    A, B, n, m = read_system(A, B)
    Q, R = read_weight("Q", Q, n), read_weight("R", R, m)
    if not linalg.cholesky(sim.stop_gradient(R)) then return nil, "R is not positive definite" end
    local P = doubling(A, B:mm(linalg.solve(R, B:t())), Q, n)
    if not P then
      return nil, "no regulator: a mode that does not decay is not reached by the inputs, or not weighted by Q"
    end
    -- Insert the solution into the Riccati equation to measure its residual.
    local K, again = riccati_step(A, B, Q, R, P)
    if not K or size(again - P) > RESIDUAL * size(P) then
      return nil, "the Riccati equation is too badly conditioned"
    end
    -- Modes that are neither controllable nor weighted must decay on their own.
    local values, _, imaginary = linalg.eig(sim.stop_gradient(A - B:mm(K)))
    for i = 1, values and n or 0 do
      if math.sqrt(values[i] ^ 2 + (imaginary and imaginary[i] or 0) ^ 2) >= 1 then
        return nil, "no regulator: a mode that does not decay is not weighted by Q"
      end
    end
    return K, again
  end
end
