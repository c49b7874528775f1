-- Kinematic bodies are driven through piles within a step. Bodies crushed between them and the ground have no
-- consistent velocities: such a step is reported, and must not be solved again and again (which may take 18,000
-- factorisations and pivots in the first of these, and up to 36 s a step in others).
local sim = require "sim2d"

local function pile(stepping, n, place, flow)
  local w = sim.world { stepping = stepping, flow = flow }
  w:box { type = "static", position = { 0, -0.5 }, size = { 20, 1 } }
  for i = 0, n - 1 do place(w, i) end
  return w
end

local function thrown(w, size, from, to)
  local box = w:box { type = "kinematic", position = from, size = size }
  w:step(59)
  local messages = {}
  w:on("solver_warning", function(e) messages[#messages + 1] = e.message end)
  local before = w:stats().iterations
  box:motion(function() return to[1], to[2], 0 end)
  w:step()
  local taken, s = w:stats().iterations - before, w:stats()
  for _, body in ipairs(w.bodies) do
    ok(body.x == body.x and body.vx == body.vx and math.abs(body.vx) < 1e6, body.x, body.vx)
  end
  w:close()
  return taken, s.unsolved, messages
end

test("a box thrown through a pile of discs costs little, and is reported", function()
  local function place(w, i) w:circle { radius = 0.2, position = { (i % 4) * 0.42 - 0.6, 0.2 + 0.42 * (i // 4) } } end
  local taken, unsolved, messages = thrown(pile("event", 12, place, "projected"), { 1, 1 }, { 5, 3 }, { 0, 1 })
  eq(unsolved, 1)
  ok(messages[1]:find "#14", messages[1])
  ok(taken < 3000, taken)
  -- The two stages find a way through with 1,300 short pieces, and miss no tolerance.
  taken, unsolved = thrown(pile("event", 12, place), { 1, 1 }, { 5, 3 }, { 0, 1 })
  eq(unsolved, 0)
  ok(taken < 40000, taken)
  for _, stepping in ipairs { "auto", "speculative", "bisect" } do
    ok(thrown(pile(stepping, 12, place), { 1, 1 }, { 5, 3 }, { 0, 1 }) < 3000, stepping)
  end
end)

-- The remaining cost is the search for solutions of islands of up to 20 contacts, which no proof ends.
test("boxes thrown through random piles cost little, too", function()
  for seed = 1, fewer(24, 6) do
    math.randomseed(seed)
    local function u(a, b) return a + (b - a) * math.random() end
    local friction, n = u(0.1, 1), math.random(4, 12)
    local function place(w, i)
      local at = { (i % 4) * 0.42 - 0.6 + u(-0.02, 0.02), 0.21 + 0.42 * (i // 4) }
      w:circle { radius = u(0.15, 0.2), position = at, friction = friction }
    end
    local function crush(flow, size, from, to)
      math.randomseed(seed + 100)
      return thrown(pile("event", n, place, flow), size, from, to)
    end
    local size, from, to = { u(0.3, 1.5), u(0.3, 1.5) }, { 5, u(1, 5) }, { u(-1, 1), u(0, 1.5) }
    local taken = crush("projected", size, from, to)
    ok(taken < 100000, seed, taken)
    -- The two stages try shorter pieces first: up to three times as much.
    taken = crush("auto", size, from, to)
    ok(taken < 300000, seed, taken)
  end
end)
