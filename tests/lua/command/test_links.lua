-- Consistency of the pages: each relative link and anchor of README.md, CHANGELOG.md, CONTRIBUTING.md and docs has a
-- target, docs/index.md names each page, lines of text have at most 120 characters, and pages at most 400 lines. The
-- test does not need MkDocs.

local tree = require "pages"

local LONGEST_LINE = 120 -- characters; rows of tables, pictures, code and lines with one link are not broken
local LONGEST_PAGE = 400 -- lines

local pages = tree.found "ls *.md; find docs -name '*.md' | sort"

-- Every file and folder of the tree, by its path from the top.
local exists = { [""] = true }
for _, path in ipairs(tree.found "find . -mindepth 1 ! -path './build*' ! -path './.git/*' | cut -c3-") do
  exists[path] = true
end

-- a/b/../c is a/c
local function plain(path)
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then
      if #parts == 0 then return nil end
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

-- Lines outside fenced code, with their numbers.
local function text_lines(text)
  local number, fence = 0, false
  local lines = text:gmatch "([^\n]*)\n?"
  return function()
    for line in lines do
      number = number + 1
      if line:find "^%s*```" then
        fence = not fence
      elseif not fence then
        return number, line
      end
    end
  end
end

-- Anchors of a page, made from its headings as GitHub does.
local function anchors(text)
  local list, seen = {}, {}
  for _, line in text_lines(text) do
    local heading = line:match "^#+%s+(.-)%s*$"
    if heading then
      heading = heading:gsub("%[(.-)%]%(.-%)", "%1"):lower():gsub("[^%w%s_\128-\255-]", ""):gsub("%s", "-")
      local count = seen[heading]
      seen[heading] = (count or 0) + 1
      list[count and heading .. "-" .. count or heading] = true
    end
    for name in line:gmatch '<a [^>]*[in][da]m?e?="([^"]+)"' do list[name] = true end
  end
  return list
end

local known = {}
local function anchors_of(path)
  known[path] = known[path] or anchors(tree.text(path))
  return known[path]
end

-- Links of a page without a target.
local function broken(page, text)
  local list = {}
  local folder = page:match "^(.*/)" or ""
  for number, line in text_lines(text) do
    line = line:gsub("`[^`]*`", "")
    for target in line:gmatch "%]%(([^)%s]+)%)" do
      if not target:find "^%a+:" then
        local path, anchor = target:match "^([^#]*)#?(.*)$"
        path = path == "" and page or plain(folder .. path)
        if not (path and exists[path]) then
          list[#list + 1] = ("%s:%d: %s does not exist"):format(page, number, target)
        elseif anchor ~= "" and path:find "%.md$" and not anchors_of(path)[anchor] then
          list[#list + 1] = ("%s:%d: %s: no such heading"):format(page, number, target)
        end
      end
    end
  end
  return list
end

test("each relative link and anchor of the pages has a target", function()
  local list, links = {}, 0
  for _, page in ipairs(pages) do
    local text = tree.text(page)
    for _, one in ipairs(broken(page, text)) do list[#list + 1] = one end
    links = links + select(2, text:gsub("%]%(", ""))
  end
  eq(table.concat(list, "\n"), "")
  ok(links > 1000, links .. " links")
end)

test("docs/index.md names each page of docs", function()
  local map, top = tree.text "docs/index.md", 0
  for _, page in ipairs(pages) do
    local name = page:match "^docs/([^/]+)$"
    if name and name ~= "index.md" then
      ok(map:find("](" .. name, 1, true), name .. " is not in docs/index.md")
      top = top + 1
    end
  end
  ok(top > 40, top .. " pages")
end)

test("a planted link without a target is found", function()
  local text = "# A heading\n\n[a](nix.md) [b](#a-heading) [c](#nix) [d](../README.md) `[e](nix.md)` [f](https://nix)\n"
  eq(#broken("docs/testing.md", (text:gsub("#a%-heading", "../README.md#sim2d"))), 2)
  eq(anchors(text)["a-heading"], true)
end)

test("lines of text have at most 120 characters", function()
  for _, page in ipairs(pages) do
    local count, first = 0, nil
    for number, line in text_lines(tree.text(page)) do
      local words = select(2, line:gsub("%S+", ""))
      local code = line:find "^    " -- an indented block
      local whole = line:find "^%s*|" or line:find "^!%[" or line:find "^<" -- a row of a table, a picture, an anchor
      if utf8.len(line) > LONGEST_LINE and not code and not whole and words > 3 then
        count, first = count + 1, first or number
      end
    end
    eq(count, 0, ("%s: lines of text longer than %d characters (line %s)"):format(page, LONGEST_LINE, first))
  end
end)

test("pages have at most 400 lines", function()
  for _, page in ipairs(pages) do
    local lines = select(2, tree.text(page):gsub("\n", ""))
    ok(lines <= LONGEST_PAGE, ("%s: %d lines, at most %d"):format(page, lines, LONGEST_PAGE))
  end
end)

-- Defined there, not only called: its name begins a line, after its type.
local function defines(text, name)
  for line in ("\n" .. text):gmatch "\n([%a][^\n]*)" do
    if line:find("[%s*]" .. name .. "%(") then return true end
  end
  return false
end

test("each file, function and script of docs/equations.md exists", function()
  local rows, functions = 0, 0
  for line in (tree.text "docs/equations.md" .. "\n"):gmatch "([^\n]*)\n" do
    local source
    for name in line:gmatch "`([^`]+)`" do
      if name:find "/" then
        ok(exists[name], name .. " of docs/equations.md does not exist")
        source = name:find "%.c$" and name or source
      elseif line:find "^|" and name:find "_" and source then
        ok(defines(tree.text(source), name), ("%s does not define %s"):format(source, name))
        functions = functions + 1
      end
    end
    rows = rows + (line:find "^| .*`" and 1 or 0)
  end
  ok(rows > 40 and functions > 25, rows .. " rows, " .. functions .. " functions")
  eq(defines("  s2_called(1);\nint s2_defined(void) {\n", "s2_called"), false)
end)
