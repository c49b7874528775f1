-- world:lcs: a step as a linear complementarity system,
--   x+ = A x + B u + D lambda + d,   0 <= lambda  _|_  E x + F lambda + H u + c >= 0

local ACTIVE = 1e-9 -- N s, N m s or m/s; a row is active if its lambda exceeds this

return function(sim, host)
  local methods = host.world_methods()
  local make, read = host.lcs, host.lcs_read

  local Lcs = host.close_class({ __name = "Lcs" }, "Lcs", {})

  function Lcs.__tostring(lcs)
    return ("Lcs (%d states, %d inputs, %d rows)"):format(lcs.A.shape[1], lcs.B.shape[2], lcs.F.shape[1])
  end

  function methods.lcs(world, def)
    local lcs = make -- the name shown in messages
    return setmetatable(lcs(world, def), Lcs)
  end

  -- Reads x from the world or from a clone of it.
  function Lcs:read(world) return read(world, self.coordinates) end

  local function vector(what, name, value, n)
    local good, a = pcall(sim.array, type(value) == "number" and { value } or value)
    if value == nil or not good or a.size ~= n then
      host.fail("bad argument to '%s' (%s: %d numbers expected, got %s)", what, name, n,
        good and value ~= nil and ("%d"):format(a.size) or host.describe(value))
    end
    return a:reshape(n)
  end

  -- Solves rows from + 1 to `to`, with w = M lambda + q. The lambda of earlier rows is known.
  local function solve(F, q, from, to, options)
    local M, part = {}, {}
    for i = from + 1, to do
      M[i - from] = table.move(F[i], from + 1, to, 1, {})
      part[i - from] = q[i]
    end
    return sim.lcp.solve(M, part, options)
  end

  -- Returns lambda at x and u, or nil and the reason. The rows of an impact are solved after the rows of the motion,
  -- which do not depend on them.
  function Lcs:solve(x, u, options)
    x, u = vector("solve", "x", x, self.x0.size), u == nil and self.u0 or vector("solve", "u", u, self.u0.size)
    local q = self.c
    if q.size == 0 then return sim.array {} end
    q = q + self.E:mm(x)
    if u.size > 0 then q = q + self.H:mm(u) end
    q = q:table()
    local F, first, all = self.F:table(), self.motion_rows, self.c.size
    local lambda, status = solve(F, q, 0, first, options)
    if not lambda then return nil, status end
    if all > first then
      for i = first + 1, all do
        for k = 1, first do q[i] = q[i] + F[i][k] * lambda[k] end
      end
      local more
      more, status = solve(F, q, first, all, options)
      if not more then return nil, status end
      table.move(more, 1, all - first, first + 1, lambda)
    end
    return sim.array(lambda)
  end

  -- The linear map from x and u to x+ while the set of active rows (lambda not 0) stays the same: A - D F^-1 E and B -
  -- D F^-1 H, restricted to these rows. If their F is singular, the lambda of least norm is used.
  function Lcs:linear(lambda)
    lambda = vector("linear", "lambda", lambda, self.c.size):table()
    local n, m, rows, F, EH, D = self.x0.size, self.u0.size, {}, {}, {}, {}
    for i = 1, #lambda do
      if lambda[i] > ACTIVE then rows[#rows + 1] = i end
    end
    if #rows == 0 then return self.A, self.B end
    local all, columns = self.F:table(), self.D:t()
    for a, i in ipairs(rows) do
      F[a], D[a], EH[a] = {}, columns[i]:table(), self.E[i]:table()
      if m > 0 then table.move(self.H[i]:table(), 1, m, n + 1, EH[a]) end
      for b, j in ipairs(rows) do F[a][b] = all[i][j] end
    end
    local gain = sim.array(D):t():mm(sim.linalg.lstsq(sim.array(F), sim.array(EH)))
    return self.A - gain:slice(nil, { 1, n }), m > 0 and self.B - gain:slice(nil, { n + 1, n + m }) or self.B
  end

  -- Returns the state x+ after a step, and lambda; or nil and the reason.
  function Lcs:step(x, u, options)
    x, u = vector("step", "x", x, self.x0.size), u == nil and self.u0 or vector("step", "u", u, self.u0.size)
    local lambda, status = self:solve(x, u, options)
    if not lambda then return nil, status end
    local after = self.A:mm(x) + self.d
    if u.size > 0 then after = after + self.B:mm(u) end
    if lambda.size > 0 then after = after + self.D:mm(lambda) end
    return after, lambda
  end
end
