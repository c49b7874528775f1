# Words that docs/architecture.md asks not to use, in identifiers, comments and texts. Run by tools/house.
# The first file is that page: words in `code letters` in the last column of its glossary. The others are searched.
#   -v allowed=FILE   tools/house.txt

function forms(word,    stem) { # a word and what English makes of it
  stem = word
  forbidden[word] = word
  forbidden[word "s"] = forbidden[word "es"] = forbidden[word "ed"] = word
  forbidden[word "d"] = forbidden[word "ing"] = forbidden[word "n"] = word
  stem = stem substr(stem, length(stem))
  forbidden[stem "ed"] = forbidden[stem "ing"] = word
  search = search (search == "" ? "" : "|") word
}

BEGIN {
  while ((getline line < allowed) > 0) {
    split(line, word, " ")
    if (word[1] == "word") {
      for (i = 2; i in word && word[i] != "#"; i++) {
        may[word[i]] = 1
      }
    }
  }
}

FNR == 1 {
  page++
}

page == 1 {
  if (/^\| word \| meaning \| not \|/) {
    glossary = 1
  } else if (!/^\|/) {
    glossary = 0
  } else if (glossary) {
    count = split($0, column, "|")
    rest = column[count - 1]
    while (match(rest, /`[a-z]+`/)) {
      forms(substr(rest, RSTART + 1, RLENGTH - 2))
      use_instead[substr(rest, RSTART + 1, RLENGTH - 2)] = column[2]
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
  next
}

tolower($0) ~ search {
  count = split($0, name, /[^A-Za-z0-9_]+/)
  for (i = 1; i <= count; i++) {
    if (name[i] == "" || name[i] in may) {
      continue
    }
    rest = name[i]
    apart = ""
    while (match(rest, /[a-z0-9][A-Z]/)) { # camelCase
      apart = apart substr(rest, 1, RSTART) "_"
      rest = substr(rest, RSTART + 1)
    }
    parts = split(tolower(apart rest), part, "_")
    for (j = 1; j <= parts; j++) {
      if (part[j] in forbidden) {
        bad = forbidden[part[j]]
        instead = use_instead[bad]
        gsub(/^ | $/, "", instead)
        printf "%s:%d: error: %s (say: %s) [word]\n", FILENAME, FNR, name[i], instead
        failures++
      }
    }
  }
}

END {
  exit failures > 0
}
