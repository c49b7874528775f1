-- world:annotate: its arguments, the lifetime of its marks, and that it changes no result.
local sim = require "sim2d"

local function scene()
  local world = sim.world { dt = 0.01 }
  world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
  return world, world:circle { radius = 0.3, position = { 0, 2 }, velocity = { 1, 0 } }
end

local PATH = os.tmpname()
at_end(function()
  os.remove(PATH)
  os.remove(PATH .. ".svg")
  os.remove(PATH .. ".s2d")
end)

local function picture(world)
  assert(world:draw(PATH .. ".svg", { view = { { -3, -1 }, { 3, 3 } } }))
  local file <close> = assert(io.open(PATH .. ".svg"))
  return file:read "a"
end

local function has(world, text, wanted)
  eq(picture(world):find(text, 1, true) ~= nil, wanted, text)
end

test("lines, arrows, points and words are in the picture", function()
  local world = scene()
  local before = picture(world)
  world:annotate { line = { { 0, 0 }, { 1, 1 }, { 2, 0 } }, color = "#123456", text = "way" }
  world:annotate { arrow = { { 0, 0 }, { 1, 1 } }, color = "#234567" }
  world:annotate { point = { 0, 1 }, color = "#345678", size = 7 }
  world:annotate { text = "here <&> there", at = { 0, 1.5 }, color = "#456789" }
  for _, part in ipairs { "#123456", "#234567", "#345678", "#456789", ">way<", "here &lt;&amp;&gt; there" } do
    has(world, part, true)
  end
  world:clear_annotations()
  eq(picture(world), before)
end)

test("a view makes room for dots and words", function()
  local world = scene()
  world:annotate { point = { 6, 0 }, name = "goal", text = "far away" }
  assert(world:draw(PATH .. ".svg"))
  local file <close> = assert(io.open(PATH .. ".svg"))
  ok(file:read "a":find(">far away<", 1, true))
end)

test("an annotation with a name stays, one without belongs to the next step", function()
  local world = scene()
  local named, once = { name = "a", text = "stays", at = { 0, 1 } }, { text = "once", at = { 0, 1.2 } }
  world:annotate(named)
  world:annotate(once)
  has(world, "once", true)
  world:step()
  has(world, "once", true) -- its frame
  world:annotate { text = "next", at = { 0, 1 } }
  has(world, "once", false)
  world:step(2)
  has(world, "next", false)
  has(world, "stays", true)
  named.text = "second"
  world:annotate(named)
  has(world, "stays", false)
  has(world, "second", true)
  world:clear_annotations "b"
  has(world, "second", true)
  world:clear_annotations "a"
  has(world, "second", false)
end)

test("a recording has annotations frame by frame; a function of a step may make them", function()
  local world, ball = scene()
  world:before_step(function(_, t)
    world:annotate { arrow = { ball.position, { ball.x + ball.vx, ball.y } }, text = ("%.2f"):format(t) }
  end)
  local recorded = assert(world:record(PATH .. ".s2d"))
  world:step(3)
  recorded:close()
  local recording <close> = assert(sim.read_recording(PATH .. ".s2d"))
  for i, frame in recording:frames() do
    eq(#frame.annotations, i == 1 and 0 or 1) -- the first is that before the first step
    if i > 1 then
      eq(frame.annotations[1].type, "arrow")
      eq(frame.annotations[1].text, ("%.2f"):format((i - 2) * 0.01))
    end
  end
end)

test("annotations do not change the simulation", function()
  local function run(annotate)
    local world, ball = scene()
    for i = 1, 100 do
      if annotate then world:annotate { point = ball.position, name = i % 2 == 0 and "x" or nil } end
      if i == 50 then
        local image = world:snapshot()
        world:step(3)
        world:restore(image)
      end
      world:step()
    end
    return table.concat(sim.array(world:state()):table(), " ")
  end
  eq(run(true), run(false))
end)

test("tracked numbers are drawn as plain ones", function()
  near(sim.grad(function(v)
    local world, ball = scene()
    ball.vx = v
    world:before_step(function() world:annotate { line = { ball.position, { ball.x + ball.vx, 0 } } } end)
    world:step(10)
    return ball.x
  end, 1.0), 0.1, 1e-12)
end)

test("errors are reported", function()
  local world = scene()
  local function refused(message, def) raises(message, function() world:annotate(def) end) end
  refused("one of the keys 'line', 'arrow', 'point', 'text' expected", {})
  refused("one of the keys 'line', 'arrow', 'point', 'text' expected", { point = { 0, 0 }, line = {} })
  refused("key 'line': a list of 2 to 10000 points", { line = { { 0, 0 } } })
  refused("key 'arrow': two points", { arrow = { { 0, 0 }, { 1, 0 }, { 2, 0 } } })
  refused("key 'arrow': point 2: {x, y} expected, got 'x'", { arrow = { { 0, 0 }, "x" } })
  refused("key 'at' is missing", { text = "x" })
  refused("key 'at': cannot be combined with 'point'", { point = { 0, 0 }, at = { 0, 0 } })
  refused("key 'text': one line of at most 95 bytes", { text = ("x"):rep(96), at = { 0, 0 } })
  refused("unknown key 'colour'; did you mean 'color'", { point = { 0, 0 }, colour = "red" })
  raises("in the middle of a step", function()
    local inner, ball = scene()
    ball:force_law(function() inner:annotate { point = { 0, 0 } } end)
    inner:step()
  end)
end)
