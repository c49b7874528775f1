#!/usr/bin/env bash
# tools/house finds a planted fault of each rule, and nothing in a tree without.
#   tests/house.sh SOURCE
set -euo pipefail
source=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{tools,docs,lua/base} "$tree"/core/{base,mcp/chain,mcp/lcp}
grep '^layer' "$source/tools/house.txt" >"$tree/tools/house.txt"
cd "$tree"

printf '#include "base/a.h"\n\nint s2_a(int x) {\n  return x;\n}\n' >core/base/a.c
printf 'int s2_a(int x); // of an impact\n' >core/base/a.h
printf '#include "base/a.h"\n\nint s2_b(int x) {\n  return s2_a(x);\n}\n' >core/mcp/lcp/b.c
printf '#include "sim2d.h"\n' >lua/base/c.c

# expect RULE COUNT: so many findings of that rule now, and none of others
expect() {
  local found
  found=$("$source/tools/house" "$tree" | grep -E '\[[a-z]+\]$' || true)
  if [ "$(grep -c "\[$1\]\$" <<<"$found")" != "$2" ] || [ "$(grep -c . <<<"$found")" != "$2" ]; then
    printf 'expected %s findings of %s, got:\n%s\n' "$2" "$1" "$found"
    exit 1
  fi
}

# plant RULE COUNT FILE TEXT: the file with that text more
plant() {
  local kept=none
  if [ -f "$3" ]; then
    kept=$(mktemp)
    cp "$3" "$kept"
  fi
  printf '%b' "$4" >>"$3"
  expect "$1" "$2"
  rm "$3"
  if [ $kept != none ]; then
    mv "$kept" "$3"
  fi
}

lines() { # COUNT TEXT
  local i
  for ((i = 0; i < $1; i++)); do printf '%s\\n' "$2"; done
}

expect none 0
plant layer 1 core/base/up.c '#include "mcp/mcp.h"\n'
plant layer 1 core/base/beside.c '#include "beside.h"\n'
plant layer 1 core/mcp/over.c '#include "../base/a.h"\n'
plant layer 1 core/mcp/shapes.c '#include "shape/shape.h"\n'

# of files that call each other, of tables, of headers, of folders
# files that call each other, one through a table; headers; folders
printf 'int s2_two(int x) {\n  return s2_three(x);\n}\n' >core/base/two.c
expect none 0
plant circle 1 core/base/three.c 'int s2_three(int x) {\n  return s2_two(x);\n}\n'
plant circle 1 core/base/table.c 'const int s2_three = 3;\nint s2_four(void) {\n  return s2_two(3);\n}\n'
printf 'circle core/base/three.c core/base/two.c # because\n' >>tools/house.txt
printf 'int s2_three(int x) {\n  return s2_two(x);\n}\n' >core/base/three.c
expect none 0
rm core/base/two.c core/base/three.c
printf '#include "base/y.h"\n' >core/base/x.h
plant circle 1 core/base/y.h '#include "base/x.h"\n'
rm core/base/x.h
printf 'int s2_d(int x) {\n  return s2_b(x);\n}\n' >core/mcp/chain/d.c
expect none 0
plant circle 1 core/mcp/lcp/e.c 'int s2_e(int x) {\n  return s2_d(x);\n}\n'

plant sentence 1 core/base/a.c '// What rests takes no time.\n'
plant sentence 1 core/base/a.c '// It rests. Of two bodies one moves.\n'
plant sentence 1 lua/base/f.lua '-- the rows are made anew\n'
plant sentence 1 core/base/a.c 'const char *text = "it keeps nothing";\n'
plant sentence 1 docs/a.md 'Nothing knows it.\n'
plant sentence 0 docs/a.md 'What is a world?\n\n```lua\nWhat is code\n```\n'
plant sentence 0 core/base/a.c '// It says\n// what rests. int what_is_told;\n'

plant static 1 core/base/a.c 'static int solve(int x) {\n  return x;\n}\n'
printf 'static int a_solve(int x) {\n  return x;\n}\n' >core/base/g.c
plant static 1 core/base/h.c 'static int a_solve(int x,\n                   int y) {\n  return x + y;\n}\n'

plant length 1 core/base/long.h "$(lines 801 'int x;')"
plant length 1 core/base/long.c "int s2_long(void) {\n  // one comment\n$(lines 80 '  x();')}\n"
plant block 1 core/base/long.c "int s2_long(void) {\n$(lines 25 '  x();')}\n"
plant block 0 core/base/long.c "int s2_long(void) {\n  // why\n$(lines 25 '  x();')}\n"
plant block 1 lua/base/long.lua "local function long()\n$(lines 25 '  x()')end\n"
plant block 1 lua/base/long.js "export function long() {\n$(lines 25 '  x();')}\n"
for i in {1..19}; do touch "core/mcp/chain/file$i.h"; done
plant length 1 core/mcp/chain/file20.h ''
echo "every planted fault was found"
