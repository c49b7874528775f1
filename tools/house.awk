# The rules of the house that can be looked up in the text of C files. Run by tools/house.
#   -v mode=circles   files and folders that need each other in a circle, includes that go upwards
#   -v mode=statics   names of static functions that stand in several files or are one word
#   -v allowed=FILE   tools/house.txt
#
# A .c file needs another that defines a function or a table (s2_...) it names, a header another it includes;
# a folder needs what its files need in either way.

function fail(place, rule, text) {
  printf "%s: error: %s [%s]\n", place, text, rule
  failures++
}

function folder_of(path) {
  sub(/\/[^\/]*$/, "", path)
  return path
}

function needs(from, to, why,    from_folder, to_folder) {
  from_folder = folder_of(from)
  to_folder = folder_of(to)
  if (from_folder != to_folder) {
    arrow(from_folder, to_folder, from " uses " why)
  }
  # what a .c file includes it may include for the types alone
  if (from != to && substr(from, length(from)) == substr(to, length(to))) {
    arrow(from, to, why)
  }
}

function arrow(from, to, why) {
  if (!((from, to) in why_of)) {
    why_of[from, to] = why
    list(from, to)
  }
}

function list(from, to) {
  target[from, ++targets[from]] = to
  node[from] = node[to] = 1
}

# Tarjan's strongly connected components
function visit(v,    i, w, size, name) {
  index_of[v] = low[v] = ++clock
  stack[++height] = v
  on_stack[v] = 1
  for (i = 1; i <= targets[v]; i++) {
    w = target[v, i]
    if (!(w in index_of)) {
      visit(w)
      if (low[w] < low[v]) {
        low[v] = low[w]
      }
    } else if (on_stack[w] && index_of[w] < low[v]) {
      low[v] = index_of[w]
    }
  }
  if (low[v] == index_of[v]) {
    size = 0
    do {
      w = stack[height--]
      on_stack[w] = 0
      name[++size] = w
    } while (w != v)
    if (size > 1) {
      report(name, size)
    }
  }
}

function report(name, size,    i, j, k, one, every, seen, within) {
  for (k = 1; k <= circles; k++) {
    every = 1
    for (i = 1; i <= size; i++) {
      every = every && index(circle[k], " " name[i] " ")
    }
    if (every) {
      return
    }
  }
  for (i = 2; i <= size; i++) { # sorted, for a list that is the same every time
    one = name[i]
    for (j = i - 1; j > 0 && name[j] > one; j--) {
      name[j + 1] = name[j]
    }
    name[j + 1] = one
  }
  every = name[1]
  for (i = 2; i <= size; i++) {
    every = every " " name[i]
  }
  fail(name[1], "circle", size " that need each other: " every)
  if (size > 8 && !verbose) {
    return
  }
  for (i = 1; i <= size; i++) {
    for (j = 1; j <= size; j++) {
      if ((name[i], name[j]) in why_of) {
        printf "    %s needs %s: %s\n", name[i], name[j], why_of[name[i], name[j]]
      }
    }
  }
}

function layer_of(path,    part) {
  split(path, part, "/")
  return part[1] == "core" ? part[2] : part[1]
}

BEGIN {
  while ((getline line < allowed) > 0) {
    count = split(line, word, " ")
    if (word[1] == "layer") {
      sees[word[2]] = " " word[2] " "
      for (i = 3; i <= count; i++) {
        sees[word[2]] = sees[word[2]] word[i] " "
      }
    } else if (word[1] == "circle") {
      sub(/ *#.*/, "", line)
      circle[++circles] = substr(line, 7) " "
    } else if (word[1] == "static") {
      static_may[word[2]] = 1
    }
  }
}

FNR == 1 {
  depth = 0
  signature = ""
}

mode == "circles" && /^#include "/ {
  split($0, quoted, "\"")
  header = quoted[2]
  apart = header == "sim2d.h" || header == "build_id.h"
  path = header ~ /^lua\// ? header : "core/" header
  layer = layer_of(FILENAME)
  if (header ~ /^\.\.?\// || (header !~ /\// && !apart)) {
    fail(FILENAME ":" FNR, "layer", "include of " header ", which is no path from core/ or its parent")
    next
  }
  if (layer in sees && !index(sees[layer], " " layer_of(path) " ")) {
    fail(FILENAME ":" FNR, "layer", layer " may not use " header)
  }
  if (!apart) {
    needs(FILENAME, path, header)
  }
  next
}

{
  text = $0
  gsub(/"([^"\\]|\\.)*"/, "", text)
  sub(/\/\/.*/, "", text)
}

# A signature begins in the first column and ends where its function does.
depth == 0 && text ~ /^[A-Za-z_]/ {
  signature = text
  line_of_signature = FNR
}
depth == 0 && text ~ /^ / && signature != "" && signature !~ /[;{]$/ {
  signature = signature text
}
depth == 0 && signature ~ /\) \{$/ {
  name = signature
  sub(/\(.*/, "", name)
  sub(/.*[^a-zA-Z0-9_]/, "", name)
  if (signature ~ /^static /) {
    if (FILENAME ~ /\.c$/) {
      statics[name] = statics[name] " " FILENAME ":" line_of_signature
      places[name]++
    }
  } else if (FILENAME ~ /\.c$/) {
    home[name] = FILENAME
  }
  depth = 1
  signature = ""
}
depth == 0 && FILENAME ~ /\.c$/ && signature ~ /^(extern )?const .* s2_[a-z0-9_]+(\[.*\])? = / {
  name = signature
  sub(/(\[.*\])? = .*/, "", name)
  sub(/.* \*?/, "", name)
  home[name] = FILENAME
}
/^}/ {
  depth = 0
  signature = ""
}

mode == "circles" && FILENAME ~ /\.c$/ && text ~ /s2_/ {
  rest = text
  while (match(rest, /s2_[a-z0-9_]+/)) {
    used = substr(rest, RSTART, RLENGTH)
    if (!((FILENAME, used) in seen_use)) {
      seen_use[FILENAME, used] = 1
      user[++uses] = FILENAME
      use[uses] = used
    }
    rest = substr(rest, RSTART + RLENGTH)
  }
}

END {
  if (mode == "statics") {
    for (name in statics) {
      if (name in static_may) {
        continue
      }
      if (places[name] > 1) {
        count = split(statics[name], place, " ")
        fail(place[1], "static", name " is a static function of " count " files:" statics[name])
      } else if (name !~ /_/) {
        fail(substr(statics[name], 2), "static", name " says too little in a backtrace")
      }
    }
  } else {
    for (i = 1; i <= uses; i++) {
      if (use[i] in home) {
        needs(user[i], home[use[i]], use[i])
      }
    }
    for (name in node) {
      if (!(name in index_of)) {
        visit(name)
      }
    }
  }
  exit failures > 0
}
