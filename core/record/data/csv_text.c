// Decodes the bytes of a .csv file.
#include "base/text.h"
#include "record/data/csv_parts.h"

#include <string.h>
#include <strings.h>

static bool is_utf8(const char *text, size_t size) {
  for (const char *at = text; at < text + size;) {
    if ((unsigned char)*at < 0x80) {
      at++;
      continue;
    }
    const char *next = at;
    (void)s2_utf8_next(&next);
    if (next == at + 1) { // replacement for an invalid byte
      return false;
    }
    at = next;
  }
  return true;
}

static char *from_latin1(const unsigned char *bytes, size_t size) {
  char *text = s2_memory_take(2 * size + 1), *to = text;
  for (size_t i = 0; i < size; i++) {
    to += bytes[i] < 0x80 ? (*to = (char)bytes[i], 1) : s2_utf8_put(to, bytes[i]);
  }
  *to = '\0';
  return text;
}

static char *from_utf16(const unsigned char *bytes, size_t size, bool big) {
  char *text = s2_memory_take((size_t)S2_UTF8_MOST * (size / 2 + 1) + 1), *to = text;
  uint32_t high = 0; // first half of a surrogate pair, or 0
  for (size_t i = 0; i + 1 < size; i += 2) {
    uint32_t unit = (uint32_t)(big ? bytes[i] << 8 | bytes[i + 1] : bytes[i + 1] << 8 | bytes[i]);
    bool first = unit >= 0xd800 && unit < 0xdc00, second = unit >= 0xdc00 && unit < 0xe000;
    if (first) {
      high = unit;
      continue;
    }
    to += s2_utf8_put(to, second && high != 0 ? 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00)
                                              : unit);
    high = 0;
  }
  *to = '\0';
  return text;
}

// UTF-16 starts with a byte order mark, or has a zero byte in the same half of its first two
// characters.
static bool is_utf16(const unsigned char *bytes, size_t size, bool *big) {
  *big = size >= 2 && bytes[0] == 0xfe && bytes[1] == 0xff;
  if (*big || (size >= 2 && bytes[0] == 0xff && bytes[1] == 0xfe)) {
    return true;
  }
  *big = size >= 4 && bytes[0] == 0 && bytes[2] == 0 && bytes[1] != 0 && bytes[3] != 0;
  return *big || (size >= 4 && bytes[1] == 0 && bytes[3] == 0 && bytes[0] != 0 && bytes[2] != 0);
}

S2Status s2_csv_decode(const S2DataFile *file, char **text, char **owned) {
  static const char mark[] = "\xef\xbb\xbf"; // byte order mark of UTF-8, which some programs write
  size_t size = file->size;
  bool big;
  *text = (char *)file->bytes;
  *owned = NULL;
  if (is_utf16(file->bytes, size, &big)) {
    *text = *owned = from_utf16(file->bytes, size, big);
    size = strlen(*text);
    if (size == 0) {
      return s2_data_refuse(file->path, "not a text file (it contains a zero byte)");
    }
  } else if (memchr(file->bytes, 0, size) != NULL) {
    int line = 1;
    for (const unsigned char *at = file->bytes; *at != 0; at++) {
      line += *at == '\n';
    }
    return s2_data_refuse(file->path, "line %d: not a text file (it contains a zero byte)", line);
  } else if (!is_utf8(*text, size)) {
    *text = *owned = from_latin1(file->bytes, size);
  }
  *text += strncmp(*text, mark, 3) == 0 ? 3 : 0;
  return s2_ok();
}

char *s2_csv_skip_lines(char *text, int count) {
  for (int i = 0; i < count && *text != '\0'; i++) {
    text += strcspn(text, "\r\n");
    text += text[0] == '\r' && text[1] == '\n' ? 2 : *text != '\0';
  }
  return text;
}

// Recognises error cells of spreadsheets, such as #N/A. The cell must end after the word.
static bool is_error_cell(const char *at) {
  static const char *const words[] = {"#n/a",  "#na",   "#div/0!", "#value!",
                                      "#ref!", "#num!", "#name?",  "#null!"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i]);
    if (strncasecmp(at, words[i], length) == 0) {
      // After a blank, only a number or another such word may follow. Otherwise the text is a
      // sentence.
      const char *next = at + length, *behind = next + strspn(next, " ");
      return strchr(",;|\t\r\n", *next) != NULL ||
             (behind > next && strchr("+-.0123456789#\"", *behind) != NULL);
    }
  }
  return false;
}

bool s2_csv_is_comment(const char *at) {
  bool unit = at[0] == '%' && at[1] != '\0' && strchr(",;\t", at[1]) != NULL;
  bool mark = (*at == '#' && !is_error_cell(at)) || (*at == '%' && !unit);
  return mark || *at == '\n' || *at == '\r' || *at == '\0' || (at[0] == '/' && at[1] == '/');
}
