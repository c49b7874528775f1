-- Displays for control: costs by term, paths of plans, and gains and weights as sliders.

local TURN = 2 * math.pi
local ROLLOUTS = 10         -- default number of candidates of a sampling method that are drawn
local PLAN_PX, ROLLOUT_PX = 2.5, 0.7 -- line widths, px
local PLAN_COLOR, ROLLOUT_COLOR = "#1b6ca8", "#1b6ca866"
local FAR = 1e9             -- m; a path ends where a coordinate exceeds this
local SLIDER_MOST = 4       -- upper end of a slider, as a multiple of its initial value
local SLIDER_OF_ZERO = 1    -- upper end of a slider whose initial value is 0
local LONGEST_CHANNEL = 47  -- length limit of a channel's name, bytes

return function(sim, host)
  local control, Cost = sim.control, host.Cost
  local fail, describe = host.fail, host.describe

  local function plain(value) return getmetatable(value) == "Tracked" and value:value() or value end

  -- ---- Costs, term by term ----------------------------------------------------------------------

  local function remainder(r)
    return math.abs(r) <= math.pi and r or r - TURN * math.floor(r / TURN + 0.5)
  end

  -- The norms of docs/control.md as functions of residuals r.
  local NORM = {}
  local function summed(f)
    return function(r, p)
      local sum = 0
      for _, value in ipairs(r) do sum = sum + f(value, p) end
      return sum
    end
  end
  NORM.linear = summed(function(r) return r end)
  NORM.quadratic = summed(function(r) return r * r / 2 end)
  NORM.smooth_abs = summed(function(r, p) return math.sqrt(r * r + p * p) - p end)
  NORM.power = summed(function(r, p) return math.abs(r) ^ p end)
  NORM.huber = summed(function(r, p)
    local a = math.abs(r)
    return a <= p and r * r / 2 or p * (a - p / 2)
  end)
  function NORM.l2(r, p)
    local sum = p * p
    for _, value in ipairs(r) do sum = sum + value * value end
    return math.sqrt(sum) - p
  end

  -- Values of fields at a point of a body; p is the point in world coordinates.
  local AT_POINT = {
    x = function(_, p) return { p.x } end, y = function(_, p) return { p.y } end,
    position = function(_, p) return { p.x, p.y } end,
    vx = function(body, p) return { body.vx - body.omega * (p.y - body.y) } end,
    vy = function(body, p) return { body.vy + body.omega * (p.x - body.x) } end,
    velocity = function(body, p)
      return { body.vx - body.omega * (p.y - body.y), body.vy + body.omega * (p.x - body.x) }
    end,
  }

  -- The present values of a term.
  local function values_of(term, world)
    if term.residual then return host.cost_list(term.name, term.residual(world)) end
    local object, list = host.counterpart(world, term.of), {}
    if not object or not object.alive then fail("cost: '%s': the world has no such body or joint", term.name) end
    local point = term.at and object:world_point(term.at)
    for _, field in ipairs(term.fields) do
      local value
      if point then value = AT_POINT[field](object, point) else value = object[field] end
      if field == "position" or field == "velocity" then
        list[#list + 1], list[#list + 2] = value[1], value[2]
      else
        list[#list + 1] = point and value[1] or value
      end
    end
    return list
  end

  -- The norm of a term, without its weight.
  local function norm_of(term, world)
    local r = values_of(term, world)
    local goal = term.goal or host.cost_goal(term.name, term.goal_given, #r)
    for i = 1, #r do
      r[i] = plain(r[i]) - goal[i]
      if term.wrap then r[i] = remainder(r[i]) end
    end
    return NORM[term.norm](r, term.p)
  end

  -- The cost of the given commands, or of the commands in effect.
  local function controls_of(cost, world, u)
    local actuators = host.actuators(world)
    local sum, weights = 0, host.cost_controls(cost, #actuators)
    for i, actuator in ipairs(actuators) do
      local value = actuator.value
      if u ~= nil then value = type(u) == "number" and u or u[i] or u[actuator.name] or 0 end
      value = plain(value)
      sum = sum + weights[i] * value * value / 2
    end
    return sum
  end

  -- cost:parts(world [, u]) returns a table with the present cost of each term per second, by name. `controls` is the
  -- cost of u, or of the commands in effect if u is not given.
  function Cost:parts(world, u)
    world = host.world(world)
    local list = {}
    for _, term in ipairs(self.terms) do list[term.name] = term.weight * norm_of(term, world) end
    if host.cost_has_controls(self) then list.controls = controls_of(self, world, u) end
    return list
  end

  -- The names of the parts of the cost, in order.
  function Cost:names()
    local names = {}
    for i, term in ipairs(self.terms) do names[i] = term.name end
    if host.cost_has_controls(self) then names[#names + 1] = "controls" end
    return names
  end

  function host.cost_has_controls(cost)
    if type(cost.controls) == "number" then return cost.controls > 0 end
    return true
  end

  local function read_weight(what, value)
    if not host.finite(value) or value < 0 then
      fail("bad argument to 'set_weight' (%s: a number of at least 0 expected, got %s)", what, describe(value))
    end
    return value
  end

  -- cost:set_weight(name, weight [, terminal]) changes a weight. Planners use the new weight from their next plan on.
  function Cost:set_weight(name, weight, terminal)
    if name == "controls" and weight ~= nil then
      if type(weight) == "table" then
        local list = {}
        for i, value in ipairs(weight) do list[i] = read_weight("controls", value) end
        self.controls = list
      else
        self.controls = read_weight("controls", weight)
      end
      self.version = self.version + 1
      return
    end
    for _, term in ipairs(self.terms) do
      if term.name == name then
        term.weight = weight == nil and term.weight or read_weight(name, weight)
        term.terminal = terminal == nil and term.terminal or read_weight(name, terminal)
        self.version = self.version + 1
        return
      end
    end
    fail("bad argument #1 to 'set_weight' (there is no term %s; there are: %s)", describe(name),
      table.concat(self:names(), ", "))
  end

  -- ---- Costs as channels ------------------------------------------------------------------------

  local costs = setmetatable({}, { __mode = "k" }) -- maps a World to its logged cost
  local logged = {}                                -- existing channels, which all worlds share

  -- Creates a channel "cost.NAME" for each term, for recordings and the live viewer.
  function host.log_cost(world, cost)
    costs[world] = cost
    for _, name in ipairs(cost:names()) do
      local channel = ("cost." .. name):sub(1, LONGEST_CHANNEL)
      logged[channel] = logged[channel] or pcall(sim.watch, channel, function(seen)
        local of = costs[seen]
        if not of then return nil end
        if name == "controls" then return controls_of(of, seen) end
        for _, term in ipairs(of.terms) do
          if term.name == name then return term.weight * norm_of(term, seen) end
        end
        return nil
      end)
    end
  end

  function host.logged_cost(from, to) costs[to] = costs[from] end

  -- ---- Paths of plans ---------------------------------------------------------------------------

  -- show = { body or {body, point}, ..., rollouts = 10 }, with points in the body's frame
  function host.read_show(what, world, show)
    if show == nil then return nil end
    if getmetatable(show) == "Body" then show = { show } end
    local function bad(value)
      host.bad_law_key(what, "show", "a list of dynamic bodies or { body, {x, y} }, and rollouts = a whole number", value)
    end
    if type(show) ~= "table" or #show == 0 then bad(show) end
    for key in pairs(show) do
      if math.type(key) ~= "integer" and key ~= "rollouts" then bad(key) end
    end
    local read = { rollouts = show.rollouts == nil and ROLLOUTS or show.rollouts }
    if not host.whole(read.rollouts) or read.rollouts < 0 then bad(show.rollouts) end
    -- the index of each body in world:state()
    local places, count = {}, 0
    for _, body in ipairs(world.bodies) do
      if body.type == "dynamic" then
        places[body] = count
        count = count + 1
      end
    end
    for i, entry in ipairs(show) do
      local body, at = entry, { 0, 0 }
      if type(entry) == "table" and getmetatable(entry) == nil then body, at = entry[1], entry[2] or at end
      local good = getmetatable(body) == "Body" and places[body]
        and pcall(function() return at[1] + at[2] end)
      if not good then bad(entry) end
      read[i] = { place = places[body], index = i, at = { at[1], at[2] } }
    end
    read.numbers = 6 * count
    return read
  end

  -- Returns the position of a point of a body, whose angle, x and y come after the first `first` numbers of the list.
  local function place_of(list, first, at)
    local angle, x, y = list[first + 1], list[first + 2], list[first + 3]
    local c, s = math.cos(angle), math.sin(angle)
    return { x + c * at[1] - s * at[2], y + s * at[1] + c * at[2] }
  end

  local function draw_path(world, name, now, row, show, point, like)
    local line, count = { place_of(now, 6 * point.place, point.at) }, #row // show.numbers
    for k = 1, count do
      local p = place_of(row, (k - 1) * show.numbers + 6 * point.place, point.at)
      if not (math.abs(p[1]) < FAR and math.abs(p[2]) < FAR) then break end -- also false for nan
      line[#line + 1] = p
    end
    if #line < 2 then return end
    world:annotate { name = name, line = line, color = like.color, size = like.size }
  end

  local PLAN, ROLLOUT = { color = PLAN_COLOR, size = PLAN_PX }, { color = ROLLOUT_COLOR, size = ROLLOUT_PX }

  -- Draws the paths of the points in problem.show: some candidates as thin lines, and the plan on top. Only the model
  -- is stepped; the world and the plan are unchanged.
  function host.draw_plan(world, problem)
    local show, rows = problem.show, {}
    local candidates = problem.candidates or {}
    local most = math.min(show.rollouts, #candidates)
    for i = 1, most do rows[i] = problem.matrix:mm(candidates[(i - 1) * #candidates // most + 1]) end
    rows[#rows + 1] = problem.u
    problem.model:rewind()
    local now = problem.clone:state()
    local _, states = sim.rollout(problem.clone, rows, { period = problem.period, states = true, failures = "keep",
      threads = #rows == 1 and 1 or nil })
    -- each line has its own name, so that a new line replaces the old one
    for i = #rows, 1, -1 do
      local row, like = states[i]:table(), i == #rows and PLAN or ROLLOUT
      for _, point in ipairs(show) do
        local name = ("plan %d.%d"):format(point.index, #rows - i)
        world:clear_annotations(name)
        draw_path(world, name, now, row, show, point, like)
      end
    end
  end

  -- ---- Sliders ----------------------------------------------------------------------------------

  local tuned = {} -- names of sliders must be unique; this counts the uses of each prefix

  -- Returns {name, get, set} for each value that may be changed during a run.
  local function gains_of(object)
    local list = {}
    local function field(name, key)
      if type(host.field(object, key)) == "number" then
        list[#list + 1] = { name, function() return object[key] end, function(value) object[key] = value end }
      end
    end
    if getmetatable(object) == Cost then
      for _, term in ipairs(object.terms) do
        list[#list + 1] = { term.name, function() return term.weight end,
          function(value) object:set_weight(term.name, value) end }
        if term.terminal > 0 then
          list[#list + 1] = { term.name .. " at the end", function() return term.terminal end,
            function(value) object:set_weight(term.name, nil, value) end }
        end
      end
      if type(object.controls) == "number" then
        list[#list + 1] = { "controls", function() return object.controls end,
          function(value) object:set_weight("controls", value) end }
      else
        for i = 1, #object.controls do
          list[#list + 1] = { "controls " .. i, function() return object.controls[i] end, function(value)
            local weights = host.cost_controls(object, #object.controls)
            weights[i] = value
            object:set_weight("controls", weights)
          end }
        end
      end
      return list
    end
    if type(object) ~= "table" or getmetatable(object) == nil then return list end
    local problem, K, inner = host.field(object, "problem"), host.field(object, "K"), host.field(object, "law")
    if problem and problem.cost then return gains_of(problem.cost) end
    for _, key in ipairs { "kp", "ki", "kd" } do field(key, key) end
    -- a matrix of gains: one slider per number
    if getmetatable(object).kind == "lqr" and K and not object.gains then
      local rows, columns = K.shape[1], K.shape[2]
      for i = 1, rows do
        for j = 1, columns do
          local name = rows == 1 and ("k%d"):format(j) or ("k%d,%d"):format(i, j)
          list[#list + 1] = { name, function() return plain(object.K[i][j]) end, function(value)
            local gains = object.K:table()
            gains[i][j] = value
            object.K, object.rows = sim.array(gains), nil
          end }
        end
      end
    end
    if #list == 0 and inner then return gains_of(inner) end
    return list
  end

  local function read_range(def, name, value)
    local range = def.range and def.range[name]
    if range == nil then
      local most = value == 0 and SLIDER_OF_ZERO or SLIDER_MOST * math.abs(value)
      return value < 0 and -most or 0, value < 0 and 0 or most
    end
    if type(range) ~= "table" or not host.finite(range[1]) or not host.finite(range[2]) or range[1] >= range[2]
      or value < range[1] or value > range[2] then
      fail("bad argument #2 to 'tune' (range: %s: {lo, hi} around %g expected, got %s)", name, value, describe(range))
    end
    return range[1], range[2]
  end

  local TUNE = { name = true, range = true, on_change = true }

  -- sim.control.tune(law or cost [, { name =, range = { NAME = {lo, hi} }, on_change = }]): makes a slider in the live
  -- viewer for each gain or weight. Returns the sliders by name.
  function control.tune(object, def)
    def = def or {}
    host.check_tune_keys(def, TUNE)
    local list = gains_of(object)
    if #list == 0 then
      fail("bad argument #1 to 'tune' (a cost, a planner, or a law with gains: pid, lqr, computed_torque, expected, got %s)",
        describe(object))
    end
    if def.name ~= nil and type(def.name) ~= "string" then
      fail("bad argument #2 to 'tune' (key 'name': a text expected, got %s)", describe(def.name))
    elseif def.range ~= nil and type(def.range) ~= "table" then
      fail("bad argument #2 to 'tune' (key 'range': { NAME = {lo, hi} } expected, got %s)", describe(def.range))
    end
    if def.on_change ~= nil then host.check_function("tune", 2, def.on_change) end
    local known = {}
    for _, gain in ipairs(list) do known[gain[1]] = true end
    for _, name in ipairs(host.sorted_keys(def.range or {})) do
      if not known[name] then
        fail("bad argument #2 to 'tune' (range: there is no %s; there are: %s)", describe(name),
          table.concat(host.sorted_keys(known), ", "))
      end
    end
    -- unique names: "kp", then "kp 2"
    local prefix, sliders = def.name and def.name .. " " or "", {}
    for _, gain in ipairs(list) do
      local name, value = gain[1], gain[2]()
      local lo, hi = read_range(def, name, value)
      local shown = prefix .. name
      tuned[shown] = (tuned[shown] or 0) + 1
      if tuned[shown] > 1 then shown = shown .. " " .. tuned[shown] end
      local function change(now)
        gain[3](now)
        if def.on_change then def.on_change(name, now) end
      end
      local slider = sim.slider { name = shown, min = lo, max = hi, value = value, on_change = change }
      if slider.value ~= value then change(slider.value) end -- the slider kept its value from the last run
      sliders[name] = slider
    end
    return sliders
  end

  function host.check_tune_keys(def, known)
    if type(def) ~= "table" then fail("bad argument #2 to 'tune' (table expected, got %s)", describe(def)) end
    for _, key in ipairs(host.sorted_keys(def)) do
      if not known[key] then
        local near = type(key) == "string" and host.nearest(key, host.sorted_keys(known))
        fail("bad argument #2 to 'tune' (unknown key '%s'%s)", tostring(key),
          near and ("; did you mean '%s'?"):format(near) or "; known: name, on_change, range")
      end
    end
  end
end
