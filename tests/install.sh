#!/usr/bin/env bash
# What `cmake --install` gives works where it was put: the command, the module in a stock Lua, a C program built
# with the flags of pkg-config (against the shared library, then the archive), the annotations for editors.
#
#   tests/install.sh CMAKE BUILD CC PROGRAM.c [LUA]
set -euo pipefail

cmake=$1 build=$2 cc=$3 program=$4 lua=${5:-}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
  echo "FAILED: $1"
  exit 1
}

# Moved after it was installed: nothing in it may know where it is.
"$cmake" --install "$build" --prefix "$prefix/first" >/dev/null
mv "$prefix/first" "$prefix/at"
cd "$prefix"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix/at" -name sim2d.pc)")
[ -n "$PKG_CONFIG_PATH" ] || fail "no sim2d.pc"

cat >ball.lua <<'LUA'
local sim = require "sim2d"
local world = sim.world {}
world:box { type = "static", position = { 0, -0.5 }, size = { 10, 1 } }
local ball = world:circle { radius = 0.5, position = { 0, 3 } }
world:run { duration = 2 }
assert(math.abs(ball.y - 0.5) < 1e-9, ball.y)
print("the ball rests", sim.version)
LUA
unset LUA_PATH LUA_CPATH
[ "$(./at/bin/sim2d ball.lua | cut -f 1)" = "the ball rests" ] || fail "the command"

if [ -n "$lua" ]; then
  printed=$(LUA_CPATH="$(pkg-config --variable=luacpath sim2d);;" "$lua" ball.lua)
  [ "$printed" = "the ball rests	$(pkg-config --modversion sim2d)" ] || fail "the module: $printed"
fi

# compile NAME FLAGS: the program, by pkg-config alone
compile() {
  local given=()
  read -ra given <<<"$2"
  "$cc" -std=c17 "$program" "${given[@]}" -o "$1"
}
libdir=$(pkg-config --variable=libdir sim2d)
compile shared "$(pkg-config --cflags --libs sim2d) -Wl,-rpath,$libdir"
./shared | grep -q "y = 0.500000000" || fail "the C program with the shared library"
rm "$libdir"/libsim2d.so*
compile archive "$(pkg-config --cflags --libs --static sim2d)"
./archive | grep -q "y = 0.500000000" || fail "the C program with the archive"
if ldd archive | grep -i "liblua"; then
  fail "the library needs Lua"
fi

[ -f "$(pkg-config --variable=meta sim2d)/sim.lua" ] || fail "no annotations"
echo "passed: command, module${lua:+ in $lua}, libsim2d shared and as an archive, annotations"
