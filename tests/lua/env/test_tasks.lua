-- The tasks in scenes/tasks and their table in docs/tasks.md, which tools/tasks.lua writes.
local SOURCE = os.getenv "S2_SOURCE" or "."

-- The contents of the cells of each row.
local function rows()
  local list = {}
  for line in io.lines(SOURCE .. "/docs/tasks.md") do
    local picture, name = line:match '^| <img src="([^"]*)".-%[`([%w_]+)`%]'
    if name then
      local cells = {}
      for cell in line:gmatch "|%s*([^|]*)" do cells[#cells + 1] = cell:gsub("%s+$", ""):gsub("−", "-") .. "" end
      local mean, worst, best = cells[5]:match "^(%S+) %((%S+) to (%S+)%)$"
      list[#list + 1] = { name = name, picture = picture, observed = cells[3], mean = mean, worst = worst, best = best,
        steps = cells[6], solved = cells[7], residual = cells[8] }
    end
  end
  return list
end

-- With as many decimals as the table has.
local function as_printed(text, value)
  local digits = text:match "%.(%d+)$"
  return ("%." .. (digits and #digits or 0) .. "f"):format(value)
end

test("every task has its row, and its picture", function()
  local files, names = {}, {}
  local pipe <close> = assert(io.popen(("ls '%s'/scenes/tasks/*.lua"):format(SOURCE)))
  for file in pipe:lines() do files[#files + 1] = file:match "([^/]*)%.lua$" end
  for i, row in ipairs(rows()) do
    names[i] = row.name
    local picture <close> = assert(io.open(SOURCE .. "/docs/" .. row.picture, "rb"))
    ok(picture:seek "end" > 1000, row.name)
  end
  ok(#files >= 15)
  eq(names, files)
end)

test("the table has the results of the baselines", function()
  local fast = { acrobot = true, cart_pole = true, double_cart_pole = true, reacher = true }
  for _, row in ipairs(rows()) do
    if fast[row.name] then
      local env = dofile(SOURCE .. "/scenes/tasks/" .. row.name .. ".lua")
      local mean, returns, steps, told = env:evaluate()
      local solved = 0
      for _, value in ipairs(returns) do solved = solved + (value >= env.passed and 1 or 0) end
      eq({ row.name, row.mean, row.worst, row.best, row.steps, row.solved }, { row.name, as_printed(row.mean, mean),
        as_printed(row.worst, math.min(table.unpack(returns))), as_printed(row.best, math.max(table.unpack(returns))),
        ("%.0f"):format(steps), ("%d of 20"):format(solved) })
      -- Residuals of another build differ in their last digits: a factor of 100 is accepted.
      local residual, unsolved = row.residual:match "^(%S+), (%d+)$"
      ok(told.residual < 100 * tonumber(residual), row.name)
      eq(told.unsolved, tonumber(unsolved))
    end
  end
end)

-- In each task the keys have an effect, the view contains the moving bodies at the start of an episode, and a picture
-- can be made.
test("tasks can be seen and played", function()
  for _, row in ipairs(rows()) do
    local env = dofile(SOURCE .. "/scenes/tasks/" .. row.name .. ".lua")
    ok(next(env.keys) ~= nil and type(env.about_baseline) == "string", row.name)
    env:reset { seed = 1 }
    local lo, hi = env.view[1], env.view[2]
    for _, body in ipairs(env.world.bodies) do
      if body.type == "dynamic" and body.color ~= "#ffffff00" then
        ok(body.x > lo[1] and body.x < hi[1] and body.y > lo[2] and body.y < hi[2], row.name .. " " .. (body.name or ""))
      end
    end
    local name = os.tmpname() -- not in the current folder of a person who runs this by hand
    ok(env:render(name .. ".svg"))
    os.remove(name)
    os.remove(name .. ".svg")
  end
end)
