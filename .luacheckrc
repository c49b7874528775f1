std = "lua54"
max_line_length = 100
exclude_files = { "build*", "lua/sim2d/meta" } -- declarations only, never run

files["tests/lua/run.lua"] = { globals = { "at_end", "eq", "larger", "near", "ok", "raises", "skip", "test" } }
files["tests/lua"] = {
  read_globals = { "at_end", "eq", "larger", "near", "ok", "raises", "skip", "test" },
}
files["tests/lua/sim2d/test_table.lua"] = { globals = { "print" } }
files["tests/lua/module.lua"] = { globals = { "arg" } }
