-- sim.experiment: expected and obtained values as a table with a verdict.

local Experiment = {}
Experiment.__index = Experiment
Experiment.__name = "Experiment"

local METHODS = "equal, below, above, figure, finish"

-- Six digits show most errors; the column of differences shows errors in later digits.
local function show(value)
  if value == 0 then return "0" end -- also for -0
  if math.type(value) == "float" then
    return value == math.floor(value) and math.abs(value) < 1e15 and ("%.0f"):format(value)
      or ("%.6g"):format(value)
  end
  return tostring(value)
end

local function is_number(value) return math.type(value) ~= nil end

local function check_name(method, what)
  if type(what) ~= "string" or what == "" then
    error(("bad argument #1 to '%s' (a text that names the comparison expected, got %s)"):format(method, type(what)), 3)
  end
end

local function check_number(method, place, value, what)
  if not is_number(value) then
    error(("bad argument #%d to '%s' (%s: a number expected, got %s)"):format(place, method, what, type(value)), 3)
  end
end

local function add(self, row)
  if self.finished then
    error("the experiment is finished: compare before finish()", 3)
  end
  self.rows[#self.rows + 1] = row
  return row.ok
end

-- experiment:equal(what, expected, obtained [, tolerance]): numbers may differ by at most `tolerance` (default 0);
-- texts and booleans must be equal. Returns true if they agree.
function Experiment:equal(what, expected, obtained, tolerance)
  check_name("equal", what)
  if not is_number(expected) then
    if type(expected) ~= "string" and type(expected) ~= "boolean" then
      error(("bad argument #2 to 'equal' (a number, a text or a boolean expected, got %s)"):format(type(expected)), 2)
    elseif tolerance ~= nil then
      error("bad argument #4 to 'equal' (only numbers have a tolerance)", 2)
    end
    return add(self, { what = what, expected = tostring(expected), obtained = tostring(obtained),
      difference = "", bar = "", ok = expected == obtained })
  end
  check_number("equal", 3, obtained, "obtained")
  tolerance = tolerance or 0
  check_number("equal", 4, tolerance, "tolerance")
  if not (tolerance >= 0 and tolerance < math.huge) then
    error("bad argument #4 to 'equal' (a finite tolerance >= 0 expected)", 2)
  end
  local difference = obtained == expected and 0 or math.abs(obtained - expected)
  local all_error = expected == 0 and 0 < difference and difference <= tolerance -- a tiny error needs only two digits
  return add(self, { what = what, expected = show(expected),
    obtained = all_error and ("%.2g"):format(obtained) or show(obtained),
    difference = ("%.1e"):format(difference):gsub("^0%.0e%+00$", "0"),
    bar = tolerance == 0 and "exact" or ("%.0e"):format(tolerance), ok = difference <= tolerance })
end

-- experiment:below(what, bound, obtained) expects obtained <= bound. experiment:above expects obtained >= bound.
function Experiment:below(what, bound, obtained)
  check_name("below", what)
  check_number("below", 2, bound, "bound")
  check_number("below", 3, obtained, "obtained")
  return add(self, { what = what, expected = "<= " .. show(bound), obtained = show(obtained), difference = "",
    bar = "", ok = obtained <= bound })
end

function Experiment:above(what, bound, obtained)
  check_name("above", what)
  check_number("above", 2, bound, "bound")
  check_number("above", 3, obtained, "obtained")
  return add(self, { what = what, expected = ">= " .. show(bound), obtained = show(obtained), difference = "",
    bar = "", ok = obtained >= bound })
end

-- experiment:figure(plot) writes the plot to the file given by --out and shows it in a player. The plot is drawn in
-- either case.
function Experiment:figure(plot)
  if self.options.out ~= "" then
    assert(plot:save(self.options.out))
    self.figures = self.options.out
  else
    plot:svg()
    if plot.show then plot:show() end
    self.figures = self.figures or ""
  end
end

-- experiment:finish(): prints the table; raises an error if a value is not as expected.
function Experiment:finish()
  if #self.rows == 0 then
    error("nothing was compared: call equal, below or above before finish()", 2)
  end
  self.finished = true
  local rows, wrong = {}, {}
  for i, row in ipairs(self.rows) do
    rows[i] = { row.what, row.expected, row.obtained, row.difference, row.bar, row.ok and "" or "NOT AS EXPECTED" }
    if not row.ok then wrong[#wrong + 1] = row end
  end
  print(self.title)
  self.sim.table { columns = { "quantity", "expected", "obtained", "difference", "allowed", "" },
    table.unpack(rows) }
  if self.figures then
    print(self.figures == "" and "--out FILE.svg writes the figure" or "wrote " .. self.figures)
  end
  if #wrong > 0 then
    error(("%d of %d not as expected: %s: expected %s, obtained %s"):format(#wrong, #rows, wrong[1].what,
      wrong[1].expected, wrong[1].obtained), 2)
  end
  print(("all %d as expected"):format(#rows))
end

return function(sim)
  Experiment.__index = function(_, key)
    local method = Experiment[key]
    if method == nil and type(key) == "string" and key ~= "figures" and key ~= "finished" then
      error(("an experiment has no '%s'; it has %s"):format(key, METHODS), 2)
    end
    return method
  end

  -- sim.experiment(title [, options]): a table of expected and obtained values. `options` has the form of sim.options,
  -- with --out FILE added for the figure. The parsed values are in the field `options`.
  function sim.experiment(title, options)
    if type(title) ~= "string" then
      error(("bad argument #1 to 'experiment' (a title expected, got %s)"):format(type(title)), 2)
    end
    local declared = { out = { "", "FILE.svg or FILE.png: the file of the figure" } }
    for name, value in pairs(options or {}) do declared[name] = value end
    return setmetatable({ sim = sim, title = title, options = sim.options(declared), rows = {} }, Experiment)
  end
end
