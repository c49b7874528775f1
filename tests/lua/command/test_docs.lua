-- The documentation keeps its word: each block of Lua in README.md, docs/*.md and docs/FOLDER/*.md is run by
-- the command, in a folder of its own, and prints what a block of text right behind it says.
-- A block whose first line is "-- fragment" is not run.

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]
local SOURCE = os.getenv "S2_SOURCE" or "."

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function read_file(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write_file(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

local function pages()
  local list = { "README.md" }
  local folder <close> = assert(io.popen("cd " .. quote(SOURCE) .. " && ls docs/*.md docs/*/*.md"))
  for path in folder:lines() do list[#list + 1] = path end
  return list
end

-- Fenced blocks in order: language, text, the line of the fence, and whether only blank lines lie
-- between it and the block before.
local function blocks(page)
  local list, open, line, adjacent = {}, nil, 0, false
  for text in read_file(SOURCE .. "/" .. page):gmatch "([^\n]*)\n" do
    line = line + 1
    local fence = text:match "^```(%a*)$"
    if open and fence == "" then
      open.text = table.concat(open, "\n") .. "\n"
      list[#list + 1] = open
      open, adjacent = nil, true
    elseif open then
      open[#open + 1] = text
    elseif fence then
      open = { language = fence, line = line, adjacent = adjacent }
    elseif text ~= "" then
      adjacent = false
    end
  end
  assert(not open, page .. ": the last block does not end")
  return list
end

-- Runs a script as docs.lua in an empty folder; returns its status and what it wrote.
local function run(script)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. quote(folder)))
  write_file(folder .. "/docs.lua", script)
  local command = "cd %s && %s --quiet docs.lua </dev/null >out 2>err"
  local _, _, status = os.execute(command:format(quote(folder), quote(SIM2D)))
  local out, err = read_file(folder .. "/out"), read_file(folder .. "/err")
  os.execute("rm -r " .. quote(folder))
  return status, out, err
end

-- Names that links of a page may end in: its headings, as they are made into names, and <a id="...">.
local function anchors(page)
  local names = {}
  local text = read_file(SOURCE .. "/" .. page):gsub("\n```.-\n```", "")
  for heading in ("\n" .. text):gmatch "\n#+ ([^\n]*)" do
    local name = heading:lower():gsub("%[(.-)%]%(.-%)", "%1"):gsub("[^%w_%- ]", ""):gsub(" ", "-")
    names[name] = true
  end
  for name in text:gmatch '<a id="([^"]*)"' do names[name] = true end
  return names
end

-- docs/howto/../../README.md is README.md.
local function resolve(path)
  local short, changed = path:gsub("[^/]+/%.%./", "", 1)
  return changed > 0 and resolve(short) or short
end

test("links lead somewhere", function()
  local known, links = {}, 0
  for _, page in ipairs(pages()) do known[page] = anchors(page) end
  for _, page in ipairs(pages()) do
    local folder = page:match "^(.*/)" or ""
    for target in read_file(SOURCE .. "/" .. page):gsub("\n```.-\n```", ""):gmatch "%]%(([^%s)]+)%)" do
      local path, name = target:match "^([^#]*)#?(.*)$"
      if not target:match "^https?:" then
        links = links + 1
        local file = path == "" and page or resolve(folder .. path)
        local found = io.open(SOURCE .. "/" .. file)
        ok(found, page .. ": " .. target)
        found:close()
        ok(name == "" or not known[file] or known[file][name], page .. ": no heading " .. target)
      end
    end
  end
  ok(links > 100)
end)

local ran = 0
for _, page in ipairs(pages()) do
  local list = blocks(page)
  for i, block in ipairs(list) do
    local whole = block.language == "lua" and not block.text:match "^%-%- fragment"
    ran = ran + (whole and 1 or 0)
    if whole and ran % fewer(1, 3) == 0 then
      test(("%s:%d"):format(page, block.line), function()
        local status, out, err = run(block.text)
        eq(err, "")
        eq(status, 0)
        local said = list[i + 1]
        ok(not (said and said.adjacent and said.language == ""), "what it prints stands in a block of 'text'")
        if said and said.language == "text" and said.adjacent then
          eq(out, said.text)
        end
      end)
    end
  end

  test(page .. " links to files that exist", function()
    local missing = {}
    for link in read_file(SOURCE .. "/" .. page):gmatch "%]%(([^)#%s]+)[^)]*%)" do
      local path = (page:match "^(.*/)" or "") .. link
      local file = not link:match "^https?:" and io.open(SOURCE .. "/" .. path)
      if file then
        file:close()
      elseif file == nil then
        missing[#missing + 1] = path
      end
    end
    eq(missing, {})
  end)
end

test("there is something to run", function()
  ok(ran > 15)
end)

-- Names at word boundaries only: "step" is not documented by "steps".
local function mentions(text, name)
  return text:find("%f[%w_]" .. name .. "%f[^%w_]") ~= nil
end

-- docs/reference/*.md in one text
local function reference()
  local text = {}
  for _, page in ipairs(pages()) do
    if page:match "^docs/reference/" then text[#text + 1] = read_file(SOURCE .. "/" .. page) end
  end
  ok(#text > 1)
  return table.concat(text, "\n")
end

test("the reference is what docs/reference/generate.lua writes", function()
  local command = "%s %s/docs/reference/generate.lua --check %s 2>&1"
  local output <close> = assert(io.popen(command:format(quote(SIM2D), quote(SOURCE), quote(SOURCE))))
  eq(output:read "a", "", "written by: sim2d docs/reference/generate.lua")
end)

test("the reference knows every function that editors know", function()
  local text = reference()
  local functions = 0
  local files <close> = assert(io.popen("ls " .. quote(SOURCE) .. "/lua/sim2d/meta/*.lua"))
  for path in files:lines() do
    for name in read_file(path):gmatch "\nfunction %w+[.:]([%w_]+)" do
      functions = functions + 1
      ok(mentions(text, name), name .. " is not in docs/reference/*.md")
    end
  end
  ok(functions > 50)
end)

-- Names of the .lua files below a folder, with their paths.
local function each_script(folder)
  local files <close> = assert(io.popen("cd " .. quote(SOURCE) .. " && find " .. folder .. " -name '*.lua' | sort"))
  local list = {}
  for path in files:lines() do list[#list + 1] = { path = path, name = path:match "([^/]*)%.lua$" } end
  ok(#list > 10)
  return list
end

test("every scene has its row in docs/scenes.md, and every row its scene", function()
  local text, scenes = read_file(SOURCE .. "/docs/scenes.md"), {}
  for _, scene in ipairs(each_script "scenes") do
    scenes[scene.name] = true
    ok(text:find("\n| `" .. scene.name .. "` |", 1, true), scene.path .. " has no row in docs/scenes.md")
  end
  for name in text:gmatch "\n| `([%w_]+)` |" do ok(scenes[name], "no scene is called " .. name) end
end)

test("every script is told of in docs/*.md", function()
  local text = {}
  for i, page in ipairs(pages()) do text[i] = read_file(SOURCE .. "/" .. page) end
  text = table.concat(text)
  for _, script in ipairs(each_script "scripts") do
    ok(text:find(script.path, 1, true) or text:find("`" .. script.name .. ".lua`", 1, true)
      or text:find("`" .. script.name .. "`", 1, true), script.path .. " is in none of docs/*.md")
  end
end)

test("the C programs of pages are programs of the tests", function()
  local tested = { ["docs/c-api.md"] = "tests/base/test_embed.c", ["docs/howto/embed-in-c.md"] = "tests/base/test_embed_joint.c" }
  local programs = 0
  for _, page in ipairs(pages()) do
    for _, block in ipairs(blocks(page)) do
      if block.language == "c" then
        programs = programs + 1
        eq(block.text, read_file(SOURCE .. "/" .. assert(tested[page], page .. ": its program is not tested")))
      end
    end
  end
  eq(programs, 2)
end)

-- A lesson docs/tutorial/NAME.md shows scripts/tutorial/NAME.lua (or .py), whole, and what it prints; blocks are run above.
test("lessons show their scripts", function()
  local lessons = 0
  for _, page in ipairs(pages()) do
    local name = page:match "^docs/tutorial/(%d.*)%.md$"
    if name then
      lessons = lessons + 1
      local shown = {}
      for i, block in ipairs(blocks(page)) do
        if block.language == "lua" or block.language == "python" then
          local suffix = block.language == "lua" and ".lua" or ".py"
          shown[#shown + 1] = block.text == read_file(SOURCE .. "/scripts/tutorial/" .. name .. suffix)
            and blocks(page)[i + 1].language == "text"
        end
      end
      eq(shown, { true }, page)
    end
  end
  eq(lessons, 5)
end)

test("how-to pages fit on a screen", function()
  for _, page in ipairs(pages()) do
    if page:match "^docs/howto/[^R]" then
      local _, lines = read_file(SOURCE .. "/" .. page):gsub("\n", "")
      ok(lines <= 60, ("%s has %d lines"):format(page, lines))
    end
  end
end)
