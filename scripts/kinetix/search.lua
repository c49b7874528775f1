-- Plans for levels of Kinetix without training: a search over sequences of held actions, with one set of settings for
-- all levels.
--
-- The search keeps an archive of states that it has reached, after Go-Explore (Ecoffet and others 2021, arXiv
-- 2004.12919). A cell of the archive is a coarse description of a state. Each cell keeps its best state: nearest to
-- the goal, then earliest. The search picks a state of the archive, restores it, and continues with random actions
-- that it holds for random durations. The end of each action is a new candidate for the archive. The first solved
-- state ends the search.
--
-- The shaped cost of a state is the distance between a green and a blue shape. All random numbers come from one seed,
-- and the budget counts engine steps. So a search gives the same plan in each run.
local sim = require "sim2d"

local folder = debug.getinfo(1, "S").source:match "^@(.*/)" or "./"
package.path = folder .. "?.lua;" .. package.path
local Level, field = require "level", require "field"

local search = {}

local CELL = 0.25 -- m, size of a cell of positions
local SPEED = 1.5 -- m/s, size of a cell of velocities
local QUARTER = math.pi / 2 -- rad, size of a cell of angles
local LONGEST, CHAIN = 32, 6 -- decisions for which an action is held; actions in a row from a picked state
local PIECE = 4 -- decisions after which a held action makes a candidate for the archive
local TRIES = 8 -- picks after which a state is a dead end if every continuation failed at once
local FIRST = 60000 -- engine steps of the first attempt; after each two attempts the number doubles
local STATES = 2000 -- states in the archive; each takes some 10 kB
local REGION = 0.5 -- m, size of a region of positions
local NEAR = 0.6 -- probability to pick a state from a region near the goal
local RANKS = 5 -- ranks of regions over which the probability of a pick falls by a factor e
local SHARE = 0.3 -- share of the distance to a shape that has to be pushed
local CLEAR = 0.7 -- clearance of paths as a share of the inner radius of the green shape
local LATE = 0.005 -- m, cost of a decision in the order of regions

-- Returns the shapes that actuators act on, directly or through joints, as a set.
local function driven(level)
  local of, found = level:assemblies(), {}
  for _, binding in ipairs(level.bindings) do
    for _, k in ipairs(binding.members) do
      local ends = binding.kind == "motor" and { level.joints[k].a, level.joints[k].b } or { level.thrusters[k].of }
      for _, i in ipairs(ends) do
        for other, shape in ipairs(level.shapes) do
          if of[other] == of[i] and not shape.fixed then found[other] = true end
        end
      end
    end
  end
  return found, of
end

-- Fills in the shapes that describe a state. `fine` lists green and blue shapes that move, and the heaviest driven
-- shape. `coarse` lists the heaviest shape of each other assembly. `reach` lists pairs of a driven shape and a green
-- or blue shape that moves but is not driven.
local function describe(self)
  local level = self.level
  local moved, of = driven(level)
  local heaviest, main, chosen = {}, nil, {}
  self.fine, self.coarse, self.reach, self.roles = {}, {}, {}, {}
  for i, shape in ipairs(level.shapes) do
    if not shape.fixed then
      local best = heaviest[of[i]]
      if not best or shape.mass > level.shapes[best].mass then heaviest[of[i]] = i end
      if moved[i] and (not main or shape.mass > level.shapes[main].mass) then main = i end
      if shape.role == "green" or shape.role == "blue" then
        chosen[i] = true
        table.insert(self.roles, i)
      end
    end
  end
  if main then chosen[main] = true end
  for i in ipairs(level.shapes) do
    if chosen[i] then table.insert(self.fine, i) end
    if heaviest[of[i]] == i and not chosen[i] and not moved[i] then table.insert(self.coarse, i) end
    for _, k in ipairs(self.roles) do
      if moved[i] and not moved[k] then table.insert(self.reach, { i, k }) end
    end
  end
end

-- Positions, angles and velocities of the fine shapes, and positions of the coarse ones, in whole cells.
local function cell_of(self)
  local parts, n = {}, 0
  for _, i in ipairs(self.fine) do
    local body = self.bodies[i]
    parts[n + 1], parts[n + 2] = body.x // CELL, body.y // CELL
    parts[n + 3] = self.level.shapes[i].radius and 0 or body.angle // QUARTER
    parts[n + 4] = (body.vx // SPEED) * 64 + body.vy // SPEED
    n = n + 4
  end
  for _, i in ipairs(self.coarse) do
    local body = self.bodies[i]
    parts[n + 1], parts[n + 2] = body.x // REGION, body.y // REGION
    n = n + 2
  end
  return table.concat(parts, " ")
end

-- Positions of the green and blue shapes in whole regions.
local function region_of(self)
  local parts = {}
  for n, i in ipairs(self.roles) do
    local body = self.bodies[i]
    parts[2 * n - 1], parts[2 * n] = body.x // REGION, body.y // REGION
  end
  return table.concat(parts, " ")
end

-- The clearance of paths is a share of the inner radius of the green shape, so that the grid keeps narrow passages.
local function inner_radius(shape)
  if shape.radius then return shape.radius end
  local least = math.huge
  local from = shape.vertices[#shape.vertices]
  for _, to in ipairs(shape.vertices) do
    local ex, ey = to[1] - from[1], to[2] - from[2]
    least = math.min(least, math.abs(ex * from[2] - ey * from[1]) / math.sqrt(ex * ex + ey * ey))
    from = to
  end
  return least
end

-- Makes the lengths of paths to blue shapes that do not move.
local function make_paths(self)
  self.paths = {}
  for n, pair in ipairs(self.level.goals) do
    local green, blue = self.level.shapes[pair[1]], self.level.shapes[pair[2]]
    if blue.fixed and not green.fixed then
      local radius = inner_radius(green)
      self.paths[n] = { green = self.bodies[pair[1]], radius = radius,
        length = field.of(self.level, pair[2], CLEAR * radius) }
    end
  end
end

local function least(self, list)
  local found = math.huge
  for _, pair in ipairs(list) do
    found = math.min(found, self.world:closest(self.bodies[pair[1]], self.bodies[pair[2]]).distance)
  end
  return found
end

-- The shaped cost: the least distance in m between a green and a blue shape, or the length of the path around fixed
-- shapes if it is longer. If one of the shapes has to be moved by others, a share of their distance counts, too.
local function cost_of(self)
  local cost = math.huge
  for n, pair in ipairs(self.level.goals) do
    local distance, path = self.world:closest(self.bodies[pair[1]], self.bodies[pair[2]]).distance, self.paths[n]
    if path then distance = math.max(distance, (path.length(path.green.x, path.green.y) or 0) - path.radius) end
    cost = math.min(cost, distance)
  end
  if #self.reach > 0 then cost = cost + SHARE * math.max(0, least(self, self.reach)) end
  return cost
end

-- ---- The archive ------------------------------------------------------------------------------

local function better(a, b)
  return a.cost < b.cost - 0.02 or a.cost < b.cost + 0.02 and a.k < b.k
end

-- Removes the worse half of the states, by a mixture of cost and number of picks.
local function thin(self)
  local list = self.list
  for _, node in ipairs(list) do node.worth = node.cost + 0.1 * node.picks end
  table.sort(list, function(a, b) return a.worth < b.worth or a.worth == b.worth and a.id < b.id end)
  for i = #list, STATES // 2 + 1, -1 do
    local node = list[i]
    self.cells[node.cell], node.state, list[i] = nil, nil, nil
  end
end

-- Removes a state from the archive. Another state may take its cell.
local function drop(self, node)
  local last = table.remove(self.list)
  if last ~= node then
    last.place = node.place
    self.list[node.place] = last
  end
  self.cells[node.cell], node.state = nil, nil
  self.stale = true
end

-- Adds the present state of the world if it is the best of its cell.
local function add(self, parent, action, held, k)
  local node = { parent = parent, action = action, held = held, k = k, cost = cost_of(self), picks = 0,
    cell = parent and cell_of(self) or "start", region = region_of(self), id = self.id, alive = 0 }
  self.id = self.id + 1
  local old = self.cells[node.cell]
  if old and not better(node, old) then
    node.dropped = true
    return node
  end
  node.state = self.world:snapshot()
  if old then
    node.picks, node.place = old.picks // 2, old.place
    self.list[old.place], old.state = node, nil
  else
    node.place = #self.list + 1
    self.list[node.place] = node
  end
  self.cells[node.cell] = node
  if node.cost < self.best then self.best = node.cost end
  self.stale = true
  return node
end

-- Sorts the states into regions by the coarse positions of the green and blue shapes, and the regions by the least
-- cost of their states. The order is remade now and then, because sorting takes time.
local function regions(self)
  if not self.stale or self.rounds < self.next_rank then return self.order end
  local order, of = {}, {}
  for _, node in ipairs(self.list) do
    local region = of[node.region]
    if not region then
      region = { worth = math.huge, id = node.id }
      of[node.region], order[#order + 1] = region, region
    end
    region[#region + 1] = node
    region.worth, region.id = math.min(region.worth, node.cost + LATE * node.k), math.min(region.id, node.id)
  end
  table.sort(order, function(a, b) return a.worth < b.worth or a.worth == b.worth and a.id < b.id end)
  self.order, self.stale, self.next_rank = order, false, self.rounds + 1 + #self.list // 16
  return order
end

-- Returns the least picked of some random states.
local function rarest(self, list, count)
  local node
  for _ = 1, count do
    local other = list[self.random:integer(#list)]
    if other.state and (not node or other.picks < node.picks) then node = other end
  end
  return node
end

-- Picks a state: in most cases from a region that is near the goal, otherwise from the whole archive.
local function pick(self)
  local random, node = self.random, nil
  if random:uniform() < NEAR then
    local order = regions(self)
    local rank = math.floor(-RANKS * math.log(1 - random:uniform())) + 1
    node = rarest(self, order[math.min(rank, #order)], 3)
  end
  node = node or rarest(self, self.list, 8)
  node = node or self.list[random:integer(#self.list)]
  node.picks = node.picks + 1
  return node
end

-- ---- The search -------------------------------------------------------------------------------

-- Holds an action. Returns the verdict and the number of decisions.
local function hold(self, action, held)
  for n = 1, held do
    local before = self.world.time
    local verdict = self.level:decide(self.world, self.bodies, action)
    self.steps = self.steps + math.floor((self.world.time - before) / self.level.dt + 0.5)
    if verdict then return verdict, n end
  end
  return nil, held
end

-- A duration from 1 to LONGEST decisions, uniform in its logarithm.
local function duration(random)
  return math.floor(LONGEST ^ random:uniform() + 0.5)
end

local function path_to(node)
  local list = {}
  while node.parent do
    table.insert(list, 1, node)
    node = node.parent
  end
  local actions = {}
  for _, step in ipairs(list) do
    for _ = 1, step.held do actions[#actions + 1] = step.action end
  end
  return actions
end

-- Continues from a state with a chain of random actions. Returns the last action if it solves the level.
local function explore(self, node)
  local random, level = self.random, self.level
  self.world:restore(node.state)
  local from = node
  for _ = 1, random:integer(CHAIN) do
    local action, rest = self.actions[random:integer(#self.actions)], duration(random)
    while rest > 0 do
      local left = math.min(rest, PIECE, level.decisions - node.k)
      if left <= 0 then return end
      local verdict, held = hold(self, action, left)
      if verdict == "solved" then
        return { parent = node, action = action, held = held }
      elseif verdict == "failed" then
        if from.alive == 0 and from.picks >= TRIES and from.parent and from.state then drop(self, from) end
        return
      end
      from.alive = from.alive + 1
      node = add(self, node, action, held, node.k + held)
      rest = rest - held
    end
  end
end

-- Makes one attempt, with a fresh archive. Returns the last node if it solves the level.
local function attempt(self, seed, budget, late)
  self.random:seed(seed)
  self.cells, self.list, self.order, self.id, self.rounds, self.next_rank = {}, {}, {}, 0, 0, 0
  self.world:restore(self.start)
  add(self, nil, nil, 0, 0)
  while self.steps < budget and sim.clock() < late do
    self.rounds = self.rounds + 1
    local solved = explore(self, pick(self))
    if solved then return solved end
    if #self.list > STATES then
      thin(self)
      for i, node in ipairs(self.list) do node.place = i end
      self.stale, self.next_rank = true, 0
    end
  end
end

-- Searches a plan for a level. `steps` bounds the engine steps (default 1,000,000). `seconds` bounds the elapsed time,
-- and the plan then depends on the machine. `stepping` sets the `stepping` of the world. The result has `solved`,
-- `actions` (one for each decision), `steps`, `seconds`, `attempts` and `nearest` (m).
function search.run(level, options)
  local o = options or {}
  local began = sim.clock()
  local world <close>, bodies = level:world(o)
  local self = { level = level, world = world, bodies = bodies, actions = level:actions(), start = world:snapshot(),
    random = sim.random.split(), steps = 0, best = math.huge }
  describe(self)
  make_paths(self)
  local budget, late, seed = o.steps or 1000000, began + (o.seconds or math.huge), o.seed or 1
  local solved, attempts = nil, 0
  while not solved and self.steps < budget and sim.clock() < late do
    solved = attempt(self, seed + attempts, math.min(budget, self.steps + FIRST * 2 ^ (attempts // 2)), late)
    attempts = attempts + 1
  end
  return { solved = solved ~= nil, actions = solved and path_to(solved), steps = self.steps, attempts = attempts,
    seconds = sim.clock() - began, nearest = self.best }
end

if not sim.is_main() then return search end

local exp = sim.experiment "Plans for two levels of Kinetix, without training"
for _, name in ipairs { "s/h3_point_the_thruster", "m/h7_car_flip" } do
  local level = Level.load(("%s%s.json"):format(Level.samples, name))
  local result = search.run(level, { steps = 100000 })
  exp:equal(name .. " is solved", true, result.solved)
  exp:equal("a replay in a new world", "solved", (level:replay(result.actions)))
  print(("%d decisions, found after %d engine steps"):format(#result.actions, result.steps))
end
exp:finish()
