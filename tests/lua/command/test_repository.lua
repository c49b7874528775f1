-- The address of the repository: CITATION.cff holds it, and packaging/repository copies it.

local tree = require "pages"

local ADDRESSES = {
  ["CITATION.cff"] = "\nrepository%-code: (%S+)",
  ["pyproject.toml"] = '\nRepository = "([^"]+)"',
  ["sim2d-scm-1.rockspec"] = '\n  homepage = "([^"]+)"',
}

test("copies of the address equal that in CITATION.cff", function()
  local held = tree.text("CITATION.cff"):match(ADDRESSES["CITATION.cff"])
  for name, pattern in pairs(ADDRESSES) do
    eq(tree.text(name):match(pattern), held, name .. ": run packaging/repository")
  end
end)

test("packaging/repository writes the address, copies it and removes it", function()
  local folder = tree.found("mktemp -d")[1]
  at_end(function() os.execute("rm -r " .. tree.quote(folder)) end)
  local function run(arguments)
    ok(os.execute(tree.quote(folder .. "/packaging/repository") .. arguments))
    local found = {}
    for name, pattern in pairs(ADDRESSES) do
      found[name] = tree.read_file(folder .. "/" .. name):match(pattern)
    end
    return found
  end
  tree.found("mkdir " .. tree.quote(folder .. "/packaging"))
  tree.found("cp packaging/repository " .. tree.quote(folder .. "/packaging"))
  for name in pairs(ADDRESSES) do tree.found("cp " .. name .. " " .. tree.quote(folder)) end
  run " https://a.test/b"
  local written = {}
  for name in pairs(ADDRESSES) do written[name] = "https://c.test/d" end
  eq(run " https://c.test/d", written)
  local once = tree.read_file(folder .. "/pyproject.toml")
  eq(run "", written)
  eq(tree.read_file(folder .. "/pyproject.toml"), once)
  local citation = folder .. "/CITATION.cff"
  tree.write_file(citation, (tree.read_file(citation):gsub("repository%-code:[^\n]*\n", "")))
  eq(run "", {})
end)
