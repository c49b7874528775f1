# Shared by the scripts in this folder; sourced, not run.
# shellcheck shell=bash

S2_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
S2_JOBS=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

s2_fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# Runs a command silently; shows its output only when it fails.
s2_quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1 </dev/null; then
    grep -v '^\[ *[0-9]*%\]' "$log" >&2 || true # without the progress of make
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# s2_configure PRESET FOLDER [cmake options]: configures a folder that is not configured yet.
s2_configure() {
  local preset=$1 folder=$2
  shift 2
  if [ ! -f "$S2_ROOT/$folder/Makefile" ] && [ ! -f "$S2_ROOT/$folder/build.ninja" ]; then
    echo "configuring $folder ..." >&2
    (cd "$S2_ROOT" && s2_quietly cmake --preset "$preset" "$@") ||
      s2_fail "configuring $folder failed"
  fi
}

# s2_build FOLDER [targets]: warnings and errors are shown, progress is not.
s2_build() {
  local folder=$1
  shift
  s2_quietly cmake --build "$S2_ROOT/$folder" --parallel "$S2_JOBS" ${1:+--target "$@"} ||
    s2_fail "building $folder failed"
}
