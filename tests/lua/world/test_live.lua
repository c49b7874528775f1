-- Sliders, buttons, keys and watched values without a viewer. With one: tests/browser/test_live.mjs.
local sim = require "sim2d"

local function raises(expected, f, ...)
  local success, message = pcall(f, ...)
  ok(not success, "no error; expected: " .. expected)
  ok(message:find(expected, 1, true), message)
  ok(message:match "^[^:]*test_live%.lua:%d+: ", message)
end

test("a slider has its default value", function()
  local slider = sim.slider { name = "a", min = -1, max = 3, value = 2, unit = "m" }
  eq(slider.value, 2.0)
  eq(slider.min, -1.0)
  eq(slider.max, 3.0)
  eq(slider.name, "a")
  eq(slider.unit, "m")
  eq(tostring(slider), "Slider (a = 2 m)")
  eq(sim.slider { name = "b" }.value, 0.0)
  eq(sim.slider { name = "c", min = 0.25 }.value, 0.25)
  slider.value = -1
  eq(slider.value, -1.0)
end)

test("wrong sliders", function()
  raises("bad argument #1 to 'slider' (table expected, got nil)", sim.slider)
  raises("unknown key 'mim'; did you mean 'min'?", sim.slider, { name = "d", mim = 1 })
  raises("key 'name': a text expected, got nil", sim.slider, {})
  raises("key 'name': a text expected, got ''", sim.slider, { name = "" })
  raises("there is a slider 'b' already", sim.slider, { name = "b" })
  raises("key 'min': a finite number expected, got '1'", sim.slider, { name = "d", min = "1" })
  raises("key 'max': a finite number expected, got inf", sim.slider, { name = "d", max = math.huge })
  raises("key 'max': a number above min = 1 expected, got 1", sim.slider, { name = "d", min = 1 })
  raises("key 'value': a finite number expected, got nan", sim.slider, { name = "d", value = 0 / 0 })
  raises("key 'value': a number from 0 to 1 expected, got 2", sim.slider, { name = "d", value = 2 })
  raises("key 'unit': a text expected, got 3", sim.slider, { name = "d", unit = 3 })
  raises("key 'on_change': a function expected, got 3", sim.slider, { name = "d", on_change = 3 })
  local slider = sim.slider { name = "d" } -- none of them was made
  raises("slider 'd': value: a number from 0 to 1 expected, got 1.5", function() slider.value = 1.5 end)
  raises("slider 'd': value: a number from 0 to 1 expected, got nan", function() slider.value = 0 / 0 end)
  raises("slider 'd': value: a number from 0 to 1 expected, got 'x'", function() slider.value = "x" end)
  raises("Slider: 'max' cannot be set; only 'value' can", function() slider.max = 7 end)
  raises("Slider has no field 'valeu'", function() return slider.valeu end)
  eq(slider.value, 0.0)
end)

test("buttons, keys, watches", function()
  local called = 0
  local function count() called = called + 1 end
  sim.button { name = "go", on_press = count }
  raises("there is a button 'go' already", sim.button, { name = "go", on_press = count })
  raises("key 'on_press': a function expected, got nil", sim.button, { name = "stop" })
  raises("unknown key 'press'", sim.button, { name = "stop", press = count })
  eq(sim.key "left", false)
  raises("bad argument #1 to 'key' (the name of a key expected, got 1)", sim.key, 1)
  sim.watch("calls", count, "1")
  raises("there is a watch 'calls' already", sim.watch, "calls", count)
  raises("bad argument #2 to 'watch' (function expected, got 1)", sim.watch, "x", 1)
  raises("a name expected, got nil", sim.watch)
  raises("argument #3: a text expected, got 1", sim.watch, "x", count, 1)
  local world = sim.world {}
  world:step(3)
  eq(called, 0)
end)

test("choices and axes", function()
  local choice = sim.choice { name = "who", values = { "law", "you" }, key = "B" }
  eq({ choice.value, choice.name, choice.values, tostring(choice) }, { "law", "who", { "law", "you" }, "Choice (who = law)" })
  choice.value = "you"
  choice.values[1] = "none" -- a copy
  eq({ choice.value, choice.values[1] }, { "you", "law" })
  eq(sim.choice { name = "two", values = { "a", "b" }, value = "b" }.value, "b")
  eq(sim.axis "left_x", 0.0)
  eq(sim.key "b", false)
  raises("choice 'who': value: one of law, you expected, got 'me'", function() choice.value = "me" end)
  raises("Choice: 'name' cannot be set; only 'value' can", function() choice.name = "x" end)
  raises("Choice has no field 'max'", function() return choice.max end)
  raises("key 'values': a list of texts expected, got nil", sim.choice, { name = "d" })
  raises("key 'values': different texts expected, got 1", sim.choice, { name = "d", values = { 1 } })
  raises("key 'values': different texts expected, got 'a'", sim.choice, { name = "d", values = { "a", "a" } })
  raises("key 'value': one of a, b expected, got 'c'", sim.choice, { name = "d", values = { "a", "b" }, value = "c" })
  raises("there is a choice 'who' already", sim.choice, { name = "who", values = { "a" } })
  raises("key 'key': the name of a key expected, got 1", sim.choice, { name = "d", values = { "a" }, key = 1 })
  raises("key 'key': 'b' is already in use", sim.choice, { name = "d", values = { "a" }, key = "b" })
  raises("key 'key': 'b' is already in use", sim.button, { name = "d", key = "b", on_press = print })
  raises("one of left_x, left_y, right_x, right_y, lt, rt expected, got 'x'", sim.axis, "x")
end)

test("wrong views", function()
  local world = sim.world {}
  raises("unknown key 'paec'; did you mean 'pace'?", world.view, world, { paec = 1 })
  raises("key 'pace': a number of at least 0 expected, got -1", world.view, world, { pace = -1 })
  raises("key 'pace': a number of at least 0 expected, got nan", world.view, world, { pace = 0 / 0 })
  raises("key 'port': an integer from 0 to 65535 expected, got 70000", world.view, world, { port = 70000 })
  raises("key 'port': an integer from 0 to 65535 expected, got 1.5", world.view, world, { port = 1.5 })
  raises("key 'wait': true or false expected, got 1", world.view, world, { wait = 1 })
  raises("table expected, got 3", world.view, world, 3)
  world:close()
  raises("world is closed", world.view, world)
end)

test("a watched value that is no number is reported once, and the others are kept", function()
  local out = os.tmpname()
  local file <close> = assert(io.open(out .. ".lua", "w"))
  file:write(([[
local sim = require "sim2d"
local world = sim.world {}
world:circle { radius = 1 }
sim.watch("text", function() return "x" end)
sim.watch("flag", function() return true end)
sim.watch("digits", function() return "5" end)
sim.watch("list", function() return { 1 } end)
sim.watch("nothing", function() end)
sim.watch("number", function(w) return w.time * 0 + 3 end)
local recording = assert(world:record "%s.s2d")
world:step(3)
recording:close()
local read = sim.read_recording "%s.s2d"
for _, name in ipairs { "text", "flag", "digits", "list", "nothing", "number" } do print(name, (read:column(name))) end
]]):format(out, out))
  file:close()
  local pipe = io.popen(("'%s' '%s.lua' 2>'%s'"):format(os.getenv "S2_SIM2D", out, out))
  local text = pipe:read "a"
  pipe:close()
  local nan = "{nan, nan, nan, nan}\n"
  eq(text, "text\t" .. nan .. "flag\t{1.0, 1.0, 1.0, 1.0}\ndigits\t" .. nan .. "list\t" .. nan .. "nothing\t" .. nan
    .. "number\t{3.0, 3.0, 3.0, 3.0}\n")
  local errors <close> = assert(io.open(out))
  local told = errors:read "a"
  for line, name in pairs { [4] = "text", [6] = "digits", [7] = "list" } do
    local want = (":%d: watch '%s': a number, true, false or nil expected as the value of its function, got "):format(line, name)
    eq(select(2, told:gsub(want:gsub("%p", "%%%0"), "")), 1)
  end
  ok(not told:find "nothing" and not told:find "flag" and not told:find "stop_gradient", told)
  for _, suffix in ipairs { "", ".lua", ".s2d" } do os.remove(out .. suffix) end
end)

test("recordings hold the watched values", function()
  local world = sim.world {}
  local ball = world:circle { radius = 1 }
  local recording
  sim.watch("height", function(of) return of == world and ball.y or nil end, "m")
  sim.watch("closes", function()
    if world.time > 0.02 then recording:close() end -- whatever it does
    return 7
  end)
  recording = assert(world:record "watched.s2d")
  world:run { steps = 5 }
  local out <close> = io.popen(("'%s' inspect --frame 1 watched.s2d"):format(os.getenv "S2_SIM2D"))
  local text = out:read "a"
  ok(text:find("height = %-0%.000340625 m"), text)
  ok(text:find "closes = 7", text)
end)
