-- sim.lcp.solve and similar functions for problems with tracked numbers. The problems are solved with plain numbers,
-- and the libraries' vector-Jacobian products give the derivatives.

local DEEPEST = 8 -- greatest depth of nested tables; problems have three levels

return function(sim, host)
  -- ---- Tracked numbers of a problem -------------------------------------------------------------

  local function place(path, key)
    return path == "" and tostring(key)
      or path .. (type(key) == "string" and "." .. key or ("[%s]"):format(tostring(key)))
  end

  -- Finds the tracked numbers and arrays in a value. Each is returned as {path =, keys =, value =} with its position.
  local function find_tracked(value, path, keys, found)
    local kind = getmetatable(value)
    if kind == "Tracked" then
      found.numbers[#found.numbers + 1] = { path = path, keys = keys, value = value }
    elseif kind == "Array" then
      if not rawequal(value, sim.stop_gradient(value)) then
        found.arrays[#found.arrays + 1] = { path = path, keys = keys, value = value }
      end
    elseif type(value) == "table" and #keys < DEEPEST then
      for _, key in ipairs(host.sorted_keys(value)) do
        local inside = table.move(keys, 1, #keys, 1, {})
        inside[#inside + 1] = key
        find_tracked(value[key], place(path, key), inside, found)
      end
    end
    return found
  end

  local function find(value) return find_tracked(value, "", {}, { numbers = {}, arrays = {} }) end

  -- Options have no derivatives.
  local function check_plain(what, options)
    for _, key in ipairs(type(options) == "table" and host.sorted_keys(options) or {}) do
      local found = find(options[key])
      if #found.numbers > 0 or #found.arrays > 0 then
        host.fail("bad argument to 'solve' of sim.%s (key '%s': plain value expected, got a tracked one; "
          .. "use sim.stop_gradient(x))", what, tostring(key))
      end
    end
    return options
  end

  -- The entry of a gradient at the position of the tracked number or array.
  local function derivative_of(gradient, leaf)
    local at = gradient
    for _, key in ipairs(leaf.keys) do at = at and at[key] end
    return at
  end

  local function check_finite(what, leaf, value)
    for _, number in ipairs(type(value) == "number" and { value } or
      value:reshape(value.size):table()) do
      if not host.finite(number) then
        host.fail("sim.%s.solve: the solution has no derivative with respect to %s", what, leaf.path)
      end
    end
    return value
  end

  -- Joins lists end to end. The function `split` separates them again.
  local function join(lists)
    local all = {}
    for _, list in ipairs(lists) do table.move(list, 1, #list, #all + 1, all) end
    return sim.array(all)
  end

  local function split(all, lists)
    local parts, at = {}, 1
    all = all:table()
    for i, list in ipairs(lists) do
      parts[i] = table.move(all, at, at + #list - 1, 1, {})
      at = at + #list
    end
    return parts
  end

  -- Converts the lists of a plain solution to lists of tracked numbers. `data` is the tracked problem. `pull` maps
  -- derivatives with respect to the lists to a gradient in the shape of `data`.
  local function track(what, data, lists, pull)
    local found = find(data)
    local arguments, total = {}, 0
    for i, leaf in ipairs(found.arrays) do arguments[i] = leaf.value end
    if #found.numbers > 0 then
      local list = {}
      for i, leaf in ipairs(found.numbers) do list[i] = leaf.value end
      arguments[#arguments + 1] = sim.array(list)
    end
    for _, list in ipairs(lists) do total = total + #list end
    if total == 0 then return lists end
    local solution = sim.custom {
      forward = function() return join(lists) end,
      backward = function(dl)
        local gradient, results = pull(split(dl, lists)), {}
        for i, leaf in ipairs(found.arrays) do
          local value = derivative_of(gradient, leaf)
          results[i] = value and check_finite(what, leaf, sim.array(value))
            or sim.array(leaf.value:value() * 0)
        end
        if #found.numbers > 0 then
          local list = {}
          for i, leaf in ipairs(found.numbers) do
            list[i] = check_finite(what, leaf, derivative_of(gradient, leaf) or 0.0)
          end
          results[#results + 1] = sim.array(list)
        end
        return table.unpack(results)
      end,
    } (table.unpack(arguments))
    local parts, at = {}, 0
    for i, list in ipairs(lists) do
      parts[i] = {}
      for k = 1, #list do parts[i][k] = solution[at + k] end
      at = at + #list
    end
    return parts
  end

  -- Returns the problem with plain numbers in place of its tracked numbers, and its tracked data.
  local function plain_copy(what, problem, keys)
    local copy, data, rest = {}, {}, {}
    for key, value in pairs(problem) do copy[key], rest[key] = value, value end
    for _, key in ipairs(keys) do
      copy[key], data[key], rest[key] = sim.stop_gradient(problem[key]), problem[key], nil
    end
    check_plain(what, rest)
    return copy, data
  end

  local function product(A, x) -- The product of plain lists; empty lists give nil.
    return #x > 0 and #A > 0 and sim.array(A):mm(x):table() or nil
  end

  local function add(a, b)
    return b and (sim.array(a) + b):table() or a
  end

  local function outer(a, b)
    if #a == 0 or #b == 0 then return nil end
    return sim.array(a):reshape(#a, 1):mm(sim.array(b):reshape(1, #b))
  end

  local function transposed(A)
    return A and #A > 0 and sim.array(A):t():table() or {}
  end

  -- ---- The libraries ----------------------------------------------------------------------------

  local solvers = host.tracked_solvers

  local function dense(M)
    if type(M) ~= "table" or M.rows == nil then return M end
    local full = sim.zeros(M.rows, M.columns)
    for k, v in ipairs(M.v) do
      full[{ M.i[k], M.j[k] }] = full[{ M.i[k], M.j[k] }] + v
    end
    return full
  end

  -- Returns a gradient with respect to a matrix in the shape of M.
  local function in_shape(M, g)
    if type(M) ~= "table" or M.rows == nil then return g end
    local v = {}
    for k = 1, #M.v do v[k] = g[{ M.i[k], M.j[k] }] end
    return { v = v }
  end

  function solvers.lcp(M, q, options)
    local data = { M = M, q = q }
    local plain_M, plain_q = sim.stop_gradient(M), sim.stop_gradient(q)
    local z, w, info = sim.lcp.solve(plain_M, plain_q, check_plain("lcp", options))
    if not z then return z, w, info end
    local parts = track("lcp", data, { z, w }, function(dl)
      local full = dense(plain_M)
      local dz = add(dl[1], product(transposed(full), dl[2])) -- w = M z + q
      local g = sim.lcp.vjp(full, plain_q, z, dz, { kappa = info.kappa })
      return { M = in_shape(plain_M, outer(dl[2], z) + g.M), q = add(g.q, dl[2]) }
    end)
    return parts[1], parts[2], info
  end

  function solvers.mlcp(problem)
    local plain, data = plain_copy("mlcp", problem, { "A", "B", "C", "D", "a", "b", "lo", "hi" })
    local u, v, info = sim.mlcp.solve(plain)
    if not u then return u, v, info end
    local parts = track("mlcp", data, { u, v, info.w }, function(dl)
      local dw = dl[3] -- w = D u + B v + b
      local du = plain.D and add(dl[1], product(transposed(plain.D), dw)) or dl[1]
      local dv = plain.B and add(dl[2], product(transposed(plain.B), dw)) or dl[2]
      local g = sim.mlcp.vjp(plain, u, v, info, { u = du, v = dv })
      g.D = g.D and #g.D > 0 and #u > 0 and outer(dw, u) + g.D or g.D
      g.B = g.B and #g.B > 0 and outer(dw, v) + g.B or g.B
      g.b = g.b and #g.b > 0 and add(g.b, dw) or g.b
      return g
    end)
    info.w = parts[3]
    return parts[1], parts[2], info
  end

  local function program(library, keys, multipliers)
    solvers[library] = function(problem)
      local plain, data = plain_copy(library, problem, keys)
      local x, info, more = sim[library].solve(plain)
      if not x then return x, info, more end
      local lists, solved = { x }, {}
      for key, value in pairs(info) do solved[key] = value end -- plain values, for vjp
      for i, name in ipairs(multipliers) do lists[i + 1] = info[name] end
      local parts = track(library, data, lists, function(dl)
        local loss = { x = dl[1] }
        for i, name in ipairs(multipliers) do loss[name] = dl[i + 1] end
        return sim[library].vjp(plain, x, solved, loss)
      end)
      for i, name in ipairs(multipliers) do info[name] = parts[i + 1] end
      return parts[1], info
    end
  end
  program("qp", { "P", "q", "A", "b", "G", "h" }, { "y", "z" })
  program("lp", { "c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds" }, { "y", "z", "lower", "upper" })

  function solvers.contact(problem)
    local plain, data = plain_copy("contact", problem, { "W", "M", "H", "q", "bias", "mu" })
    local r, u, info = sim.contact.solve(plain)
    if not r then return r, u, info end
    local solved = {}
    for key, value in pairs(info) do solved[key] = value end
    local parts = track("contact", data, { r, u, info.v }, function(dl)
      local g = sim.contact.vjp(plain, r, u, solved, { r = dl[1], u = dl[2], v = dl[3] })
      if g.why and g.why:find("not determined", 1, true) then
        host.fail("sim.contact.solve: the solution has no derivative: %s; set kappa above 0", g.why)
      end
      return g
    end)
    info.v = parts[3]
    return parts[1], parts[2], info
  end

  -- Derivatives with respect to the entries of a matrix, in the form of that matrix: a list of the diagonal, a list of
  -- rows, or sparse.
  local function of_entries(M, entry)
    local g = {}
    if type(M) == "table" and M.rows then
      for k = 1, #M.v do g[k] = entry(M.i[k], M.j[k]) end
      return { v = g }
    end
    local whole = sim.array(M)
    for i = 1, whole.shape[1] do
      if whole.shape[2] then
        g[i] = {}
        for j = 1, whole.shape[2] do g[i][j] = entry(i, j) end
      else
        g[i] = entry(i, i)
      end
    end
    return whole.shape[2] and #g > 0 and sim.array(g) or g
  end

  -- W v - J' lambda = c, J v + C lambda + b = 0: the adjoint system has the same matrices.
  function solvers.kkt(problem)
    local plain, data = plain_copy("kkt", problem, { "W", "J", "C", "c", "b" })
    local v, lambda, info = sim.kkt.solve(plain)
    if not v then return v, lambda, info end
    local parts = track("kkt", data, { v, lambda }, function(dl)
      local adjoint = {}
      for key, value in pairs(plain) do adjoint[key] = value end
      adjoint.c, adjoint.b = dl[1], plain.b and dl[2]
      local p, s, why = sim.kkt.solve(adjoint)
      if not p then
        host.fail("sim.kkt.solve: the solution has no derivative (%s): "
          .. "the loss depends on how redundant rows share a load; set C above 0", s == "infeasible" and "rows repeat each other" or s .. ", residual "
          .. tostring(why.residual))
      end
      return {
        c = p, b = s,
        W = of_entries(plain.W, function(i, j) return -p[i] * v[j] end),
        J = plain.J and of_entries(plain.J, function(i, j) return lambda[i] * p[j] + s[i] * v[j] end),
        C = plain.C and of_entries(plain.C, function(i) return s[i] * lambda[i] end),
      }
    end)
    return parts[1], parts[2], info
  end

  function solvers.ncp(problem)
    local plain, data = plain_copy("ncp", problem, { "theta" })
    plain.dw_dtheta = true
    local x, y, z, info = sim.ncp.solve(plain)
    if not x then return x, y, z end
    local slopes = info.dw_dtheta
    local parts = track("ncp", data, { x, y, z }, function(dl)
      if not slopes then
        host.fail("sim.ncp.solve: the solution has no derivative with respect to theta; "
          .. "set options.kappa above 0")
      end
      return { theta = product(transposed(slopes), join(dl):table()) }
    end)
    return parts[1], parts[2], parts[3], info
  end
end
