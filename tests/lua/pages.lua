-- Files of the tree, for tests of its pages.
local pages = { SOURCE = os.getenv "S2_SOURCE" or "." }

-- A word of a shell command
function pages.quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

function pages.read_file(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

function pages.write_file(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

-- The text of a file of the tree
function pages.text(path)
  return pages.read_file(pages.SOURCE .. "/" .. path)
end

-- Lines that a shell command prints at the top of the tree
function pages.found(command)
  local list = {}
  local lines <close> = assert(io.popen("cd " .. pages.quote(pages.SOURCE) .. " && " .. command))
  for line in lines:lines() do list[#list + 1] = line end
  return list
end

return pages
