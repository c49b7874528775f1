-- The documentation is correct: each block of Lua in README.md, docs/*.md and docs/FOLDER/*.md is run by the command,
-- in its own folder, and prints the text of a block directly after it. A block whose first line is "-- fragment" is not
-- run.

local SIM2D = os.getenv "S2_SIM2D" or arg[-1]
local tree = require "pages"
local quote, read_file, write_file = tree.quote, tree.read_file, tree.write_file

local function pages()
  return tree.found "ls README.md docs/*.md docs/*/*.md"
end

-- Fenced blocks in order: language, text, the line of the fence, and whether only blank lines lie between it and the
-- block before.
local function blocks(page)
  local list, open, line, adjacent = {}, nil, 0, false
  for text in tree.text(page):gmatch "([^\n]*)\n" do
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
    if page:match "^docs/reference/" then text[#text + 1] = tree.text(page) end
  end
  ok(#text > 1)
  return table.concat(text, "\n")
end

test("the reference equals the output of docs/reference/generate.lua", function()
  local command = "%s %s/docs/reference/generate.lua --check %s 2>&1"
  local output <close> = assert(io.popen(command:format(quote(SIM2D), quote(tree.SOURCE), quote(tree.SOURCE))))
  eq(output:read "a", "", "written by: sim2d docs/reference/generate.lua")
end)

test("the reference names every annotated function", function()
  local text = reference()
  local functions = 0
  for _, path in ipairs(tree.found "ls lua/sim2d/meta/*.lua") do
    for name in tree.text(path):gmatch "\nfunction %w+[.:]([%w_]+)" do
      functions = functions + 1
      ok(mentions(text, name), name .. " is not in docs/reference/*.md")
    end
  end
  ok(functions > 50)
end)

-- Names of the .lua files below a folder, with their paths.
local function each_script(folder)
  local list = {}
  for i, path in ipairs(tree.found("find " .. folder .. " -name '*.lua' | sort")) do
    list[i] = { path = path, name = path:match "([^/]*)%.lua$" }
  end
  ok(#list > 10)
  return list
end

test("every scene has its row in docs/scenes.md, and every row its scene", function()
  local text, scenes = tree.text "docs/scenes.md", {}
  for _, scene in ipairs(each_script "scenes") do
    scenes[scene.name] = true
    ok(text:find("\n| `" .. scene.name .. "` |", 1, true), scene.path .. " has no row in docs/scenes.md")
  end
  for name in text:gmatch "\n| `([%w_]+)` |" do ok(scenes[name], "no scene is called " .. name) end
end)

test("every script is mentioned in docs/*.md", function()
  local text = {}
  for i, page in ipairs(pages()) do text[i] = tree.text(page) end
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
        eq(block.text, tree.text(assert(tested[page], page .. ": its program is not tested")))
      end
    end
  end
  eq(programs, 2)
end)

-- A lesson docs/tutorial/NAME.md shows the whole of scripts/tutorial/NAME.lua (or .py), and its output; blocks are run
-- above.
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
          shown[#shown + 1] = block.text == tree.text("scripts/tutorial/" .. name .. suffix)
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
      local _, lines = tree.text(page):gsub("\n", "")
      ok(lines <= 60, ("%s has %d lines"):format(page, lines))
    end
  end
end)
