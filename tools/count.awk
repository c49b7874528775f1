# Counts lines of C, Lua and JavaScript by folder, and comments inside functions. Run by tools/count.
#
# A line is blank, or a comment (nothing else is on it), or code. A function is what its own layout shows:
# from the line that opens it to the line that closes it at the same indent, which clang-format and our
# habits in Lua and JavaScript keep. A function within another counts for itself: its lines are not those of the
# outer one. A module of Lua that returns one function is no function.
#   -v block=25    a function of more lines has to have a comment inside
#   -v verbose=1   lists those that have none
#   -v longest=80  lists functions of more lines, and no counts

function language(name) {
  return name ~ /\.lua$/ ? ".lua" : name ~ /\.m?js$/ ? ".js" : ".c"
}

function indent_of(line) {
  match(line, /^ */)
  return RLENGTH
}

# 0 code, 1 comment only, 2 blank; sets `trailing` where code is followed by a comment
function kind(line,    text) {
  trailing = 0
  text = line
  sub(/^[ \t]+/, "", text)
  if (text == "") {
    return 2
  }
  if (within) {
    if (within == "c" ? text ~ /\*\// : index(text, "]]")) {
      within = ""
    }
    return 1
  }
  if (tongue == ".lua") {
    if (text ~ /^--\[\[/) {
      if (!index(text, "]]")) {
        within = "lua"
      }
      return 1
    }
    trailing = text ~ /[^ "'-] +-- /
    return text ~ /^--/ ? 1 : 0
  }
  if (text ~ /^\/\*/) {
    if (text !~ /\*\//) {
      within = "c"
    }
    return 1
  }
  trailing = text ~ /[^ :"'] +\/\/ /
  return text ~ /^\/\// ? 1 : 0
}

function opens(line, indent) {
  if (tongue == ".c") {
    return depth == 0 && line ~ /\) \{( *\/\/.*)?$/ && line !~ /^#/
  }
  if (tongue == ".lua") {
    return line !~ /^return function/ &&
           line ~ /(^|[ =(,])function( [A-Za-z0-9_.:]+)? *\([^)]*\)( *--.*)?$/
  }
  return line ~ /(^ *(export )?(default )?(async )?function[ *].*|=>) *\{$/ ||
         (line ~ /^ +(static |async |get |set |#)*[A-Za-z_$][A-Za-z0-9_$]*\(.*\) *\{$/ &&
          line !~ /^ +(if|for|while|switch|catch|function) *\(/)
}

function closes(line, indent) {
  if (depth == 0 || indent != at[depth]) {
    return 0
  }
  return tongue == ".lua" ? line ~ /^ *end([^A-Za-z0-9_]|$)/ : line ~ /^ *\}/
}

function tell(what_) {
  printf "%s:%d: %s: %s\n", FILENAME, first[depth], what_, head[depth]
}

function finish(    length_) {
  length_ = FNR - first[depth] + 1 - nested[depth]
  if (depth > 1) {
    nested[depth - 1] += FNR - first[depth] + 1
  }
  functions[folder]++; functions[tongue]++
  if (length_ > block) {
    long[folder]++; long[tongue]++
    if (!comments[depth]) {
      bare[folder]++; bare[tongue]++
      if (verbose) {
        tell(length_ " lines without a comment inside")
      }
    }
  }
  if (longest && length_ > longest) {
    tell(length_ " lines, at most " longest)
  }
  depth--
}

FNR == 1 {
  folder = FILENAME
  if (!sub(/\/[^\/]*$/, "", folder)) {
    folder = "."
  }
  tongue = language(FILENAME)
  depth = 0
  within = ""
  start = 0
  if (!(folder in files)) {
    order[++folders] = folder
  }
  files[folder]++; files[tongue]++
}

{
  what = kind($0)
  lines[folder, what]++; lines[tongue, what]++
  indent = indent_of($0)
  # a signature of C may take several lines
  if (tongue == ".c" && depth == 0) {
    if (what == 0 && $0 ~ /^[A-Za-z_]/) {
      start = FNR
      signature = $0
    } else if (what != 0 || $0 ~ /^[#}]/) {
      start = 0
    }
  }
  if (what == 0 && closes($0, indent)) {
    finish()
  } else if (depth > 0) {
    inside[folder]++; inside[tongue]++
    if (what == 1) {
      whole[folder]++; whole[tongue]++
      comments[depth]++
    } else if (trailing) {
      ends[folder]++; ends[tongue]++
      comments[depth]++
    }
  }
  if (what == 0 && opens($0, indent)) {
    depth++
    first[depth] = tongue == ".c" && start ? start : FNR
    head[depth] = tongue == ".c" && start ? signature : $0
    sub(/^ +/, "", head[depth])
    at[depth] = tongue == ".c" ? 0 : indent
    comments[depth] = nested[depth] = 0
  }
}

function row(name, n, code, comment, blank, in_, whole_, ends_, fun, long_, bare_) {
  printf "%-24s %5d %7d %7d %7d %8d %7s %7s %6d %6d %6d\n", name, n, code, comment, blank, in_,
         in_ ? sprintf("%.2f%%", 100 * whole_ / in_) : "-", in_ ? sprintf("%.2f%%", 100 * ends_ / in_) : "-",
         fun, long_, bare_
}

function own(name, f) {
  row(name, files[f], lines[f, 0], lines[f, 1], lines[f, 2], inside[f], whole[f], ends[f], functions[f], long[f],
      bare[f])
}

function total(name, top,    i, f, n, k, c, b, s, w, e, u, l, r) {
  for (i = 1; i <= folders; i++) {
    f = order[i]
    if (top != "" && f != top && index(f, top "/") != 1) {
      continue
    }
    n += files[f]; k += lines[f, 0]; c += lines[f, 1]; b += lines[f, 2]; s += inside[f]; w += whole[f]
    e += ends[f]; u += functions[f]; l += long[f]; r += bare[f]
  }
  row(name, n, k, c, b, s, w, e, u, l, r)
}

END {
  if (longest) {
    exit
  }
  if (verbose) {
    print ""
  }
  printf "%-24s %5s %7s %7s %7s %8s %7s %7s %6s %6s %6s\n", "folder", "files", "code", "comment", "blank",
         "inside", "comment", "at end", "funcs", ">" block, "bare"
  for (i = 1; i <= folders; i++) {
    f = order[i]
    own(f, f)
  }
  count = split(tops, top_names, " ")
  if (count > 1) {
    for (i = 1; i <= count; i++) {
      total("all " top_names[i], top_names[i])
    }
  }
  split(".c .lua .js", kinds, " ")
  for (i = 1; i <= 3; i++) {
    f = kinds[i]
    if (files[f]) {
      own("all " (f == ".c" ? ".c .h .def" : f), f)
    }
  }
  total("all", "")
}
