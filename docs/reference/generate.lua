-- sim2d docs/reference/generate.lua [--check] [TREE]: writes the generated parts of docs/reference/*.md in TREE (default: this
-- folder) from the annotations in lua/sim2d/meta. With --check it writes nothing, names the pages that differ, and
-- ends with status 1 if there are any. A stock lua5.4 runs it as well.
--
-- A page is written by hand except for its generated parts. Each part stands between two marks:
--
--   <!-- methods: World raycast raycast_all -->   these functions of a table in the annotations (all of them if none is named)
--   <!-- fields: RayHit -->                       the fields of the class sim2d.RayHit
--   <!-- end -->
local WIDTH = 120    -- characters in a line of text
local LONG_CODE = 80 -- bytes of code in backticks that may be broken

local check, tree = false, "."
for _, word in ipairs(arg) do
  if word == "--check" then check = true else tree = word end
end

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local function read_file(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function list(pattern)
  local paths = {}
  local files <close> = assert(io.popen("cd " .. quote(tree) .. " && ls " .. pattern))
  for path in files:lines() do paths[#paths + 1] = path end
  return paths
end

-- ---- Annotations ----------------------------------------------------------------------------------

-- classes: by full name; functions: owner -> a list of functions, and each by its name
local classes, functions = {}, {}
do
  local texts = {}
  for i, path in ipairs(list "lua/sim2d/meta/*.lua") do texts[i] = read_file(tree .. "/" .. path) end
  local known = dofile(tree .. "/lua/command/prompt/annotations.lua")(texts)
  classes = known.classes
  for _, f in ipairs(known.functions) do
    local of = functions[f.owner] or {}
    functions[f.owner] = of
    of[#of + 1] = f
    of[f.name] = f
  end
end

-- ---- Markdown ---------------------------------------------------------------------------------------

-- Breaks a list item into lines of at most WIDTH characters; short code in backticks is not broken.
local function wrap(text, indent)
  text = text:gsub("`[^`]*`", function(code) return #code <= LONG_CODE and code:gsub(" ", "\1") or code end)
  local lines, line = {}, ""
  for word in text:gmatch "[^ ]+" do
    if line ~= "" and utf8.len(line) + 1 + utf8.len(word) > WIDTH - 2 then -- 2: items of a function are indented
      lines[#lines + 1] = line
      line = indent .. word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return (table.concat(lines, "\n"):gsub("\1", " "))
end

-- The type as code. A class with a list of fields is a link to it.
local listed, present = {}, nil -- class -> name of its page; the page that is written
local function code(kind)
  local text = "`" .. kind:gsub("sim2d%.", "") .. "`"
  local class = kind:match "^sim2d%.([%w_]+)[%[%]]*$"
  local page = class and listed[class]
  return page and ("[%s](%s#%s)"):format(text, page == present and "" or page, class) or text
end

local function sentence(text)
  return text == "" and "" or text:find "[.!?:)]$" and text or text .. "."
end

local function field_line(field)
  local about = field.text ~= "" and ": " .. sentence(field.text) or ""
  local need = field.optional and ", optional" or ""
  return wrap(("- `%s` (%s%s)%s"):format(field.name, code(field.type), need, about), "  ")
end

-- How scripts call the tables of the annotations. Any other table is an object, called by its name in small letters.
local called = { Array = "a", ControlLibrary = "sim.control", ContactLibrary = "sim.contact", Data = "sim.data",
  EnvLibrary = "sim.env", EnvVector = "vector", Kkt = "sim.kkt", Lcp = "sim.lcp", Linalg = "sim.linalg", Lp = "sim.lp",
  Mlcp = "sim.mlcp", Ncp = "sim.ncp", Optimize = "sim.optimize", Parallel = "sim.parallel", PlotLibrary = "sim.plot",
  ProblemLibrary = "sim.problem", Qp = "sim.qp", ReadRecording = "recording" }

local function function_lines(f)
  local names = {}
  for i, param in ipairs(f.params) do names[i] = param.optional and "[" .. param.name .. "]" or param.name end
  local owner = called[f.owner] or f.owner:lower()
  local head = ("- **`%s%s%s(%s)`**"):format(owner, f.mark, f.name, table.concat(names, ", "))
  local lines = { wrap(head .. (#f.text > 0 and ": " .. sentence(table.concat(f.text, " ")) or ""), "  ") }
  for _, param in ipairs(f.params) do lines[#lines + 1] = "  " .. field_line(param):gsub("\n", "\n  ") end
  for _, result in ipairs(f.returns) do
    local nothing = result.optional and " or nil" or ""
    local value = result.name ~= "" and ("`%s` (%s%s)"):format(result.name, code(result.type), nothing) or code(result.type) .. nothing
    local line = ("- returns %s%s"):format(value, result.text ~= "" and ": " .. sentence(result.text) or "")
    lines[#lines + 1] = "  " .. wrap(line, "  "):gsub("\n", "\n  ")
  end
  return table.concat(lines, "\n")
end

local parts = {
  methods = function(words)
    local owner = table.remove(words, 1)
    local of, lines = assert(functions[owner], "no annotations of functions of " .. owner), {}
    for i, f in ipairs(#words == 0 and of or words) do
      lines[i] = function_lines(type(f) == "table" and f or assert(of[f], owner .. " has no annotated function " .. f))
    end
    return table.concat(lines, "\n")
  end,
  fields = function(words)
    local class = assert(classes["sim2d." .. words[1]], "no annotations of the class " .. words[1])
    local lines = {}
    for i, field in ipairs(class.fields) do lines[i] = field_line(field) end
    local about = #class.text > 0 and ": " .. sentence(table.concat(class.text, " ")) or ""
    local head = wrap(("**`%s`**%s"):format(words[1], about), "")
    return ('<a id="%s"></a>\n\n%s\n\n%s'):format(words[1], head, table.concat(lines, "\n"))
  end,
}

-- ---- Pages ------------------------------------------------------------------------------------------

local pages = list "docs/reference/*.md"
for _, path in ipairs(pages) do
  for class in read_file(tree .. "/" .. path):gmatch "<!%-%- fields: (%S+) %-%->" do
    listed[class] = listed[class] or path:match "[^/]*$"
  end
end

local different = 0
for _, path in ipairs(pages) do
  local before = read_file(tree .. "/" .. path)
  present = path:match "[^/]*$"
  local _, begins = before:gsub("<!%-%- %a+:[^\n]* %-%->\n", "")
  local _, ends = before:gsub("<!%-%- end %-%->\n", "")
  assert(begins == ends, ("%s: %d generated parts begin, %d end"):format(path, begins, ends))
  local after = before:gsub("(<!%-%- (%a+):([^\n]*) %-%->\n)(.-)(<!%-%- end %-%->)", function(mark, kind, rest, old, ending)
    local words = {}
    assert(not old:find("<!--", 1, true), ("%s: the part '%s:%s' does not end"):format(path, kind, rest))
    for word in rest:gmatch "%S+" do words[#words + 1] = word end
    local part = assert(parts[kind], path .. ": no part is called " .. kind)
    return mark .. "\n" .. part(words) .. "\n\n" .. ending
  end)
  if after ~= before then
    different = different + 1
    print((check and "differs: " or "written: ") .. path)
    if not check then
      local file <close> = assert(io.open(tree .. "/" .. path, "wb"))
      file:write(after)
    end
  end
end
os.exit(check and different > 0 and 1 or 0)
