-- sim.ncp: functions written in Lua, shapes, statuses, errors that pass through the solver.
local sim = require "sim2d"
local solve = sim.ncp.solve

-- z = y - v: y = max(0, v)
local function shift(_, y, z, theta)
  local c = {}
  for i = 1, #y do c[i] = z[i] - y[i] + theta[i] end
  return c
end

-- y = (ln, mu ln, lt), z = (vn, psi, vt); theta = (vn, vt without impulses, mu)
local function contact(_, y, z, theta)
  return { z[1] - theta[1] - y[1], z[3] - theta[2] - y[3], y[2] - theta[3] * y[1] }
end

local function sliding(extra)
  local def = {
    residual = contact, cones = { orthant = 1, soc = { 2 } }, theta = { -1, 3, 0.5 },
  }
  for key, value in pairs(extra or {}) do def[key] = value end
  return def
end

test("nonnegative numbers", function()
  local x, y, z, info = solve {
    residual = shift, cones = { orthant = 3 }, theta = { 2, -3, 0.5 },
    options = { r_tol = 1e-11, b_tol = 1e-11 },
  }
  eq(x, {})
  near(y, { 2, 0, 0.5 }, 1e-10)
  near(z, { 0, 3, 0 }, 1e-10)
  eq(info.status, "solved")
  ok(info.r_vio <= 1e-11 and info.b_vio <= 1e-11)
  eq(info.residual, math.max(info.r_vio, info.b_vio))
  ok(math.type(info.iterations) == "integer" and info.iterations <= 15)
  ok(info.time >= 0)
  eq({ info.history, info.dw_dtheta, info.dl_dtheta, info.x }, {})
end)

test("second-order cones: a contact that slides", function()
  local _, y, z, info = solve(sliding { history = true })
  near(y, { 1, 0.5, -0.5 }, 1e-7)
  near(z, { 0, 2.5, 2.5 }, 1e-7)
  eq(#info.history, info.iterations)
  eq(info.history[#info.history].residual, info.residual)
  for _, at in ipairs(info.history) do ok(at.step > 0 and at.step <= 1 and at.mu > 0) end
end)

test("derivatives with respect to theta", function()
  local _, _, _, info = solve(sliding { dw_dtheta = true, dl_dw = { z = { 0, 0, 1 } } })
  -- vt+ = vt + mu vn, ln = -vn, psi = vt+
  near(info.dw_dtheta, {
    { -1, 0, 0 }, { -0.5, 0, 1 }, { 0.5, 0, -1 }, { 0, 0, 0 }, { 0.5, 1, -1 }, { 0.5, 1, -1 },
  }, 1e-6)
  near(info.dl_dtheta, { 0.5, 1, -1 }, 1e-6)
  local _, _, _, exact = solve(sliding {
    dw_dtheta = true,
    theta_jacobian = function(_, y)
      return { { -1, 0, 0 }, { 0, -1, 0 }, { 0, 0, -y[1] } }
    end,
    jacobian = function(_, _, _, theta)
      return { { -1, 0, 0, 1, 0, 0 }, { 0, 0, -1, 0, 0, 1 }, { -theta[3], 1, 0, 0, 0, 0 } }
    end,
  })
  near(exact.dw_dtheta, info.dw_dtheta, 1e-6)
end)

test("no derivative if the answer is one of many", function()
  local x, _, _, info = solve {
    x0 = { 0, 0 }, theta = { 1 }, dw_dtheta = true, dl_dw = { x = { 1, 0 } },
    residual = function(x, _, _, theta)
      local c = x[1] + x[2] - theta[1]
      return { c, c }
    end,
  }
  near(x[1] + x[2], 1, 1e-8)
  eq({ info.status, info.dw_dtheta, info.dl_dtheta }, { "solved" })
end)

test("the central path", function()
  for _, v in ipairs { -1, 0, 2 } do
    local _, y, _, info = solve {
      residual = shift, cones = { orthant = 1 }, theta = { v }, dw_dtheta = true,
      options = { kappa = 1e-2, b_tol = 1e-12, r_tol = 1e-12 },
    }
    local root = math.sqrt(v * v + 0.04)
    near(y[1], (v + root) / 2, 1e-10)
    near(info.dw_dtheta[1][1], (1 + v / root) / 2, 1e-8)
  end
end)

test("rotations and quaternions", function()
  local x = solve {
    x0 = { 5, 3, 0, 1, 0, 0, 0 }, rotations = { 2 }, quaternions = { 4 },
    residual = function(x)
      eq(#x, 7)
      near(x[2] ^ 2 + x[3] ^ 2, 1, 1e-12)
      near(x[4] ^ 2 + x[5] ^ 2 + x[6] ^ 2 + x[7] ^ 2, 1, 1e-12)
      return {
        x[1] - 1, x[3] * math.cos(1) - x[2] * math.sin(1), -- an angle of 1
        x[5], x[6], x[7] - math.sin(1), -- a rotation by 2 about z
      }
    end,
  }
  near(x[1], 1, 1e-8)
  near({ x[2], x[3] }, { math.cos(1), math.sin(1) }, 1e-8)
  near(math.abs(x[4]), math.cos(1), 1e-8)
end)

test("lists of parts need no order", function()
  local x = solve {
    x0 = { 1, 0, 1, 0 }, rotations = { 3, 1 },
    residual = function(x) return { x[2] - 0.5, x[4] + 0.5 } end,
  }
  near({ x[2], x[4] }, { 0.5, -0.5 }, 1e-8)
end)

test("nothing to solve", function()
  local x, y, z, info = solve { residual = function() return {} end }
  eq({ x, y, z, info.status, info.iterations, info.residual }, { {}, {}, {}, "solved", 0, 0.0 })
end)

test("not solved: nil, the status, and the last point", function()
  local x, status, info = solve(sliding { options = { max_iter = 2 } })
  eq({ x, status, info.status, info.iterations }, { nil, "max_iterations", "max_iterations", 2 })
  ok(info.residual > 1e-8)
  eq({ #info.x, #info.y, #info.z }, { 0, 3, 3 })
  local c = contact(info.x, info.y, info.z, { -1, 3, 0.5 })
  eq(info.r_vio, math.max(math.abs(c[1]), math.abs(c[2]), math.abs(c[3])))
  x, status = solve { x0 = { 0 }, residual = function(x) return { x[1] * x[1] + 1 } end }
  eq(x, nil)
  ok(status == "max_iterations" or status == "singular")
end)

test("nan and infinite numbers give a status", function()
  local x, status, info = solve { x0 = { 0 }, residual = function() return { 0 / 0 } end }
  eq({ x, status }, { nil, "singular" })
  ok(info.residual ~= info.residual and info.r_vio ~= info.r_vio)
  x, status = solve { x0 = { 0 }, residual = function() return { math.huge } end }
  eq({ x, status }, { nil, "singular" })
  x, status = solve { x0 = { 0 / 0 }, residual = function(x) return { x[1] } end }
  eq({ x, status }, { nil, "singular" })
  x, status = solve {
    x0 = { 0 }, residual = function(x) return { x[1] - 1 } end,
    jacobian = function() return { { 0 / 0 } } end,
  }
  eq({ x, status }, { nil, "singular" })
end)

test("undercut may be infinite", function()
  local _, _, _, info = solve(sliding { options = { undercut = math.huge } })
  eq(info.status, "solved")
end)

test("the result of a function is checked", function()
  local function returning(value)
    return function() return value end
  end
  raises("the result of residual: list of numbers expected, got nil", solve,
    { x0 = { 0 }, residual = function() end })
  raises("the result of residual: 1 numbers expected, got 2", solve,
    { x0 = { 0 }, residual = returning { 1, 2 } })
  raises("the result of residual%[1%]: number expected, got 'one'", solve,
    { x0 = { 0 }, residual = returning { "one" } })
  raises("the result of jacobian%[1%]: 1 numbers expected, got 2", solve,
    { x0 = { 0 }, residual = returning { 1 }, jacobian = returning { { 1, 2 } } })
  raises("the result of theta_jacobian: 1 rows expected, got 0", solve, {
    x0 = { 0 }, theta = { 1 }, residual = returning { 0 }, dw_dtheta = true,
    theta_jacobian = returning {},
  })
end)

test("arguments are checked", function()
  local residual = function() return {} end
  raises("bad argument #1 to 'solve' %(table expected, got no value; write { residual = ... }%)", solve)
  raises("key 'residual' is missing", solve, {})
  raises("key 'residual': function expected, got 1", solve, { residual = 1 })
  raises("unknown key 'cone'; did you mean 'cones'%?", solve, { residual = residual, cone = {} })
  raises("unknown key 'cones.orthants'; did you mean 'orthant'%?", solve,
    { residual = residual, cones = { orthants = 1 } })
  raises("key 'cones.orthant': ", solve, { residual = residual, cones = { orthant = -1 } })
  raises("key 'cones.soc': %[2%]: an integer from 1 to 2048 expected, got 1.5", solve,
    { residual = residual, cones = { soc = { 3, 1.5 } } })
  raises("key 'cones': table expected, got 3", solve, { residual = residual, cones = 3 })
  raises("x0%[1%]: number expected, got 'a'", solve, { residual = residual, x0 = { "a" } })
  raises("key 'rotations': %[1%]: an integer from 1 to 2 expected, got 3", solve,
    { residual = residual, x0 = { 1, 0 }, rotations = { 3 } })
  raises("rotations %(2 numbers%) and quaternions %(4%) must be", solve,
    { residual = residual, x0 = { 1, 0, 0, 0 }, rotations = { 2 }, quaternions = { 1 } })
  raises("the rotation or quaternion at number 1 of x has length 0", solve,
    { residual = residual, x0 = { 0, 0 }, rotations = { 1 } })
  raises("key 'options.r_tol': positive number expected, got 0", solve,
    { residual = residual, options = { r_tol = 0 } })
  raises("ls_scale must be between 0 and 1, not 2", solve,
    { residual = residual, options = { ls_scale = 2 } })
  raises("key 'options.centering': non%-negative number expected, got %-1", solve,
    { residual = residual, options = { centering = -1 } })
  raises("key 'options.max_iter': integer expected, got 1.5", solve,
    { residual = residual, options = { max_iter = 1.5 } })
  raises("the sizes of x and of the cones %(counted twice%) add up to 4000; the limit is 2048", solve,
    { residual = residual, cones = { orthant = 2000 } })
  raises("dl_dw.y: 3 numbers expected, got 1", solve, sliding { dl_dw = { y = { 1 } } })
  raises("sim.ncp has no field 'slove'; did you mean 'solve'%?", function() return sim.ncp.slove end)
end)

test("errors of a function come back unchanged, whenever they happen", function()
  local mark = {}
  local calls, reached = 0, true
  for at = 1, 1000 do
    calls = 0
    local done, message = pcall(solve, sliding {
      dw_dtheta = true,
      residual = function(...)
        calls = calls + 1
        if calls == at then error(mark) end
        return contact(...)
      end,
    })
    reached = calls >= at
    if not reached then
      eq(done, true)
      break
    end
    eq(done, false)
    ok(rawequal(message, mark))
  end
  eq(reached, false)
  ok(calls > 20)
end)

test("an error names the line of the function", function()
  local message = raises("test_ncp.lua:%d+: attempt to index a nil value", solve,
    { x0 = { 1 }, residual = function(_, _, _, theta) return { theta[1].x } end })
  ok(not message:match("test_ncp.lua:.*"):find "solve")
end)

test("a solve inside a solve, and in a coroutine", function()
  local function root(value)
    local x = solve { x0 = { 1 }, residual = function(x) return { x[1] * x[1] - value } end }
    return x[1]
  end
  local x = solve { x0 = { 2 }, residual = function(x) return { root(x[1]) - 3 } end }
  near(x[1], 9, 1e-6)
  local task = coroutine.wrap(function()
    coroutine.yield(root(4))
    solve { x0 = { 1 }, residual = function() coroutine.yield() end }
  end)
  near(task(), 2, 1e-8)
  raises("attempt to yield across a C%-call boundary", task)
end)

test("functions may keep and change their arguments", function()
  local kept = {}
  local x = solve {
    x0 = { 3 },
    residual = function(x)
      local c = { x[1] - 1 }
      x[1] = 1e9
      kept[#kept + 1] = x
      return c
    end,
  }
  near(x[1], 1, 1e-8)
  ok(#kept > 1 and not rawequal(kept[1], kept[2]))
end)

test("the same bits again", function()
  local function all()
    local x, y, z, info = solve(sliding { dw_dtheta = true, history = true })
    return { x, y, z, info.dw_dtheta, info.history, info.residual }
  end
  eq(all(), all())
end)
