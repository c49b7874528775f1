# Sentences that are hard to read, in pages, comments and messages. Run by tools/house; docs/contributing.md has the rules.
#   -v allowed=FILE   tools/house.txt
#
# A finding is a sentence that begins with What, Of, Who, Whoever, Whatever, Nobody, Nothing or Nowhere and is no
# question, or a word of the table below in any text. Code in backticks and fenced blocks does not count.

BEGIN {
  OPENING = "^(What|Of|Who|Whoever|Whatever|Nobody|Nothing|Nowhere) "
  instead["told"] = instead["tells"] = "reports, documents, raises"
  instead["anew"] = "again"
  instead["in vain"] = "fails"
  instead["mend"] = instead["mends"] = instead["mended"] = "fix, correct"
  instead["blow"] = instead["blows"] = "impact"
  instead["nobody"] = instead["nowhere"] = "a sentence with a subject"
  instead["whoever"] = "callers that"
  instead["as they were"] = instead["as it was"] = "unchanged"
  instead["says nothing"] = instead["keeps nothing"] = instead["knows nothing"] = "what happens"
  for (word in instead) {
    words = words (words == "" ? "" : "|") word
  }
  while ((getline line < allowed) > 0) {
    split(line, part, " ")
    if (part[1] == "sentence") {
      may[part[2]] = 1
    }
  }
}

function report(text) {
  printf "%s:%d: error: %s [sentence]\n", FILENAME, FNR, text
  failures++
}

# Part of a line of code that is a comment or the text of strings.
function comment_of(line, mark,    at) {
  at = index(line, mark)
  return at == 0 ? "" : substr(line, at + length(mark))
}

function strings_of(line,    text) {
  text = ""
  while (match(line, /"[^"]*"/)) {
    text = text " " substr(line, RSTART + 1, RLENGTH - 2)
    line = substr(line, RSTART + RLENGTH)
  }
  return text
}

function look_for_words(text,    rest, found) {
  rest = " " tolower(text) " "
  while (match(rest, "[^a-z_](" words ")[^a-z_]")) {
    found = substr(rest, RSTART + 1, RLENGTH - 2)
    report("'" found "' (say: " instead[found] ")")
    rest = substr(rest, RSTART + RLENGTH - 1)
  }
}

# Beginnings of sentences in a line of text; `ended`: the line before ended a sentence, or there was none.
function look_at_beginnings(text, ended,    count, part, i, piece) {
  count = split(text, part, /[.!:;] +|\| +/)
  for (i = 1; i <= count; i++) {
    piece = part[i]
    sub(/^[ *#>-]+/, "", piece)
    if ((i > 1 || ended) && match(piece, OPENING) && piece !~ /\?/) {
      report("a sentence begins with '" substr(piece, 1, RLENGTH - 1) "'")
    }
  }
}

FNR == 1 {
  fenced = 0
  ended = 1
  page = FILENAME ~ /\.md$/
  mark = FILENAME ~ /\.lua$/ ? "--" : "//"
}

FILENAME in may {
  next
}

page && /^ *```/ {
  fenced = !fenced
  next
}

{
  if (fenced) {
    next
  }
  text = page ? $0 : comment_of($0, mark)
  gsub(/`[^`]*`/, "code", text)
  if (text ~ /^ *$/) {
    ended = 1
  } else {
    look_for_words(text)
    look_at_beginnings(text, ended)
    ended = text ~ /[.!?:;|] *$/
  }
  if (!page) {
    look_for_words(strings_of($0))
  }
}

END {
  exit failures > 0
}
