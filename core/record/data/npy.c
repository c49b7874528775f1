// Reads and writes an array in NumPy's format (numpy.lib.format, versions 1 to 3). A line of Python
// describes the type, order and shape. The values follow.
#include "base/text.h"
#include "record/data/data_formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  PREFIX = 10,    // size of magic, version and length, which precede the line of Python
  ALIGNMENT = 64, // alignment of the values in the file
  LONGEST_LINE = 1 << 20,
};

static const char MAGIC[] = "\x93NUMPY";
static const uint16_t ONE = 1;

static bool little_endian(void) {
  return *(const unsigned char *)&ONE == 1;
}

// ---- Writing ----------------------------------------------------------------------------------

// Writes texts as four-byte code points, padded with zeros to the length of the longest text.
static size_t encode_texts(const S2DataArray *array, S2Npy *npy) {
  size_t count = s2_data_count(array), longest = 1;
  const char *at = array->values;
  for (size_t i = 0; i < count; i++) {
    size_t length = 0;
    for (; *at != '\0'; length++) {
      s2_utf8_next(&at);
    }
    at++;
    longest = length > longest ? length : longest;
  }
  npy->size = count * longest * sizeof(uint32_t);
  uint32_t *codes = s2_memory_take_zeroed(npy->size > 0 ? npy->size : 1);
  npy->values = npy->owned = codes;
  at = array->values;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; *at != '\0'; k++) {
      codes[i * longest + k] = s2_utf8_next(&at);
    }
    at++;
  }
  return longest;
}

void s2_npy_encode(const S2DataArray *array, S2Npy *npy) {
  enum { LINE = 64 + 24 * (S2_DATA_AXES + 1) };
  // Finds the type in NumPy's notation, and the size of the values in bytes.
  *npy = (S2Npy){.values = array->values};
  char order = little_endian() ? '<' : '>', type[32];
  size_t count = s2_data_count(array);
  switch (array->type) {
  case S2_DATA_NUMBER:
    snprintf(type, sizeof type, "%cf8", order);
    npy->size = count * sizeof(double);
    break;
  case S2_DATA_INTEGER:
    snprintf(type, sizeof type, "%ci8", order);
    npy->size = count * sizeof(int64_t);
    break;
  case S2_DATA_FLAG:
    snprintf(type, sizeof type, "|b1");
    npy->size = count;
    break;
  case S2_DATA_TEXT:
    snprintf(type, sizeof type, "%cU%zu", order, encode_texts(array, npy));
    break;
  }
  // Write the shape as a Python tuple, such as (), (n,) or (n, m).
  char line[LINE];
  int length =
      snprintf(line, sizeof line, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
  for (int i = 0; i < array->axes; i++) {
    length += snprintf(line + length, sizeof line - (size_t)length,
                       i == 0   ? "%zu,"
                       : i == 1 ? " %zu"
                                : ", %zu",
                       array->shape[i]);
  }
  length += snprintf(line + length, sizeof line - (size_t)length, "), }");
  // Pad the header with blanks, so that the values are aligned.
  npy->header_size = ((size_t)(PREFIX + length + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  npy->header = s2_memory_take(npy->header_size);
  size_t room = npy->header_size - PREFIX;
  memset(npy->header, ' ', npy->header_size);
  memcpy(npy->header, MAGIC, 6);
  npy->header[6] = 1;
  npy->header[7] = 0;
  npy->header[8] = (unsigned char)(room & 0xff);
  npy->header[9] = (unsigned char)(room >> 8);
  memcpy(npy->header + PREFIX, line, (size_t)length);
  npy->header[npy->header_size - 1] = '\n';
}

void s2_npy_free(S2Npy *npy) {
  s2_memory_free(npy->header);
  s2_memory_free(npy->owned);
  *npy = (S2Npy){0};
}

// ---- The line of Python -----------------------------------------------------------------------

enum { TYPE_SIZE = 32 };

typedef struct Line {
  const char *at; // terminated by a 0
  char type[TYPE_SIZE];
  bool fortran;
  int axes;
  size_t shape[S2_DATA_AXES];
} Line;

static void npy_skip(Line *line) {
  line->at += strspn(line->at, " \t\n");
}

static bool npy_take(Line *line, char c) {
  npy_skip(line);
  if (*line->at != c) {
    return false;
  }
  line->at++;
  return true;
}

static bool take_word(Line *line, char *word, size_t size) {
  npy_skip(line);
  char quote = *line->at;
  if (quote != '\'' && quote != '"') {
    return false;
  }
  const char *end = strchr(line->at + 1, quote);
  if (end == NULL || (size_t)(end - line->at - 1) >= size) {
    return false;
  }
  size_t length = (size_t)(end - line->at - 1);
  memcpy(word, line->at + 1, length);
  word[length] = '\0';
  line->at = end + 1;
  return true;
}

static bool take_flag(Line *line, bool *flag) {
  npy_skip(line);
  *flag = strncmp(line->at, "True", 4) == 0;
  if (!*flag && strncmp(line->at, "False", 5) != 0) {
    return false;
  }
  line->at += *flag ? 4 : 5;
  return true;
}

static bool take_shape(Line *line) {
  if (!npy_take(line, '(')) {
    return false;
  }
  while (!npy_take(line, ')')) {
    size_t length = 0;
    npy_skip(line);
    if (*line->at < '0' || *line->at > '9' || line->axes == S2_DATA_AXES) {
      return false;
    }
    for (; *line->at >= '0' && *line->at <= '9'; line->at++) {
      size_t digit = (size_t)(*line->at - '0');
      if (length > (SIZE_MAX - digit) / 10) {
        return false;
      }
      length = 10 * length + digit;
    }
    line->shape[line->axes++] = length;
    if (!npy_take(line, ',')) {
      return npy_take(line, ')');
    }
  }
  return true;
}

// Parses a line such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }, with the keys
// in any order.
static S2Status npy_read_line(const char *path, const char *what, Line *line) {
  // Each key must occur exactly once, in any order.
  bool type = false, order = false, shape = false;
  bool good = npy_take(line, '{');
  while (good && !npy_take(line, '}')) {
    char key[16];
    good = take_word(line, key, sizeof key) && npy_take(line, ':');
    if (good && strcmp(key, "descr") == 0) {
      npy_skip(line);
      if (*line->at == '[') {
        return s2_data_refuse(path,
                              "%s is structured (it has fields): save its fields as separate "
                              "arrays, numpy.savez(path, x=a['x'], ...)",
                              what);
      }
      good = !type && take_word(line, line->type, sizeof line->type);
      type = true;
    } else if (good && strcmp(key, "fortran_order") == 0) {
      good = !order && take_flag(line, &line->fortran);
      order = true;
    } else if (good && strcmp(key, "shape") == 0) {
      good = !shape && take_shape(line);
      shape = true;
    } else {
      good = false;
    }
    if (good && !npy_take(line, ',')) {
      good = npy_take(line, '}');
      break;
    }
  }
  // All keys must be present, and there must be no further text.
  npy_skip(line);
  if (!good || !type || !order || !shape || *line->at != '\0') {
    return s2_data_refuse(path, "the header of %s is damaged (or it has more than %d axes)", what,
                          S2_DATA_AXES);
  }
  return s2_ok();
}

// ---- Values -----------------------------------------------------------------------------------

typedef struct Type {
  char kind;   // one of f i u b U S
  size_t size; // bytes per value
  bool swap;   // true if the byte order differs from that of this machine
} Type;

static S2Status read_type(const char *path, const char *what, const char *text, Type *type) {
  const char *at = text;
  bool swap = (*at == '<' && !little_endian()) || (*at == '>' && little_endian());
  at += strchr("<>|=", *at) != NULL && *at != '\0';
  type->kind = *at;
  at += *at != '\0';
  char *end = NULL;
  unsigned long size = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
  static const char *const known[] = {"f4", "f8", "i1", "i2", "i4", "i8",
                                      "u1", "u2", "u4", "u8", "b1"};
  bool good = type->kind == 'U' || type->kind == 'S';
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    good = good || (known[i][0] == type->kind && (unsigned long)(known[i][1] - '0') == size);
  }
  if (!good || end == NULL || *end != '\0' || size == 0 || size > UINT32_MAX) {
    return s2_data_refuse(
        path,
        "%s has the type '%s'; supported are f4, f8, i1 to i8, u1 to u8, bool and "
        "strings%s",
        what, text, *text == '|' && text[1] == 'O' ? " (numbers, not objects)" : "");
  }
  *type = (Type){type->kind, size * (type->kind == 'U' ? sizeof(uint32_t) : 1), swap};
  return s2_ok();
}

static void npy_load(void *to, const unsigned char *from, size_t size, bool swap) {
  unsigned char *bytes = to;
  for (size_t i = 0; i < size; i++) {
    bytes[i] = from[swap ? size - 1 - i : i];
  }
}

static double npy_load_float(const unsigned char *from, const Type *type) {
  if (type->size == sizeof(float)) {
    float value;
    npy_load(&value, from, sizeof value, type->swap);
    return (double)value;
  }
  double value;
  npy_load(&value, from, sizeof value, type->swap);
  return value;
}

// Returns false if the value is larger than an int64_t.
static bool npy_load_integer(const unsigned char *from, const Type *type, int64_t *value) {
  uint64_t bits = 0;
  for (size_t i = 0; i < type->size; i++) {
    size_t at = little_endian() != type->swap ? type->size - 1 - i : i;
    bits = bits << 8 | from[at];
  }
  unsigned unused = 64 - 8 * (unsigned)type->size;
  if (type->kind == 'i' && unused > 0 && (bits >> (63 - unused) & 1) != 0) {
    bits |= UINT64_MAX << (64 - unused); // the sign
  }
  memcpy(value, &bits, sizeof bits);
  return type->kind == 'i' || bits <= INT64_MAX;
}

// Reads one text of a fixed width, without trailing zeros. Returns false if it has a zero inside.
static bool npy_load_text(S2DataArray *array, const unsigned char *from, const Type *type) {
  size_t width = type->kind == 'U' ? sizeof(uint32_t) : 1, count = type->size / width;
  char *text = s2_memory_take(count * S2_UTF8_MOST + 1);
  size_t length = 0;
  bool ended = false, good = true;
  for (size_t i = 0; i < count && good; i++) {
    uint32_t code = 0;
    npy_load(&code, from + i * width, width, type->swap);
    if (width == 1) {
      code = from[i];
      text[length] = (char)code; // copy the bytes unchanged
    }
    good = !(ended && code != 0);
    ended = ended || code == 0;
    if (!ended) {
      length += width == 1 ? 1 : (size_t)s2_utf8_put(text + length, code);
    }
  }
  text[length] = '\0';
  s2_data_add_text(array, text);
  s2_memory_free(text);
  return good;
}

// Converts index `i` of a value in C order to its position in a file in Fortran order.
static size_t fortran_place(const Line *line, size_t i) {
  size_t place = 0, stride = 1, index[S2_DATA_AXES] = {0};
  for (int k = line->axes - 1; k >= 0; k--) {
    index[k] = i % line->shape[k];
    i /= line->shape[k];
  }
  for (int k = 0; k < line->axes; k++) {
    place += index[k] * stride;
    stride *= line->shape[k];
  }
  return place;
}

static bool npy_fill(S2DataArray *array, const Line *line, const Type *type,
                     const unsigned char *bytes, size_t count) {
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    size_t place = line->fortran && line->axes > 1 ? fortran_place(line, i) : i;
    const unsigned char *from = bytes + place * type->size;
    switch (array->type) {
    case S2_DATA_NUMBER:
      ((double *)array->values)[i] = npy_load_float(from, type);
      break;
    case S2_DATA_INTEGER:
      good = npy_load_integer(from, type, (int64_t *)array->values + i);
      break;
    case S2_DATA_FLAG:
      ((unsigned char *)array->values)[i] = *from != 0;
      break;
    case S2_DATA_TEXT:
      good = npy_load_text(array, from, type);
      break;
    }
  }
  return good;
}

static S2Status decode_values(const char *path, const char *what, const Line *line,
                              const unsigned char *bytes, size_t size, const char *name,
                              S2DataSet *set) {
  Type type = {0};
  S2_TRY(read_type(path, what, line->type, &type));
  // Count the values. The product cannot overflow, because it is limited by the size of the file.
  size_t count = 1;
  bool empty = false;
  for (int i = 0; i < line->axes; i++) {
    empty = empty || line->shape[i] == 0;
  }
  for (int i = 0; i < line->axes && !empty; i++) {
    if (line->shape[i] > size / count) { // `count` is not 0
      return s2_data_refuse(
          path, "%s is cut short: its shape needs more than the %zu bytes that it has", what, size);
    }
    count *= line->shape[i];
  }
  count = empty ? 0 : count;
  // The values must have exactly the size that the shape needs.
  if (size / type.size != count || size % type.size != 0) {
    return s2_data_refuse(path,
                          "%s has %zu bytes, but its shape needs %zu values of %zu bytes each",
                          what, size, count, type.size);
  }
  // Choose the closest supported type. Each text needs an additional byte for its final 0.
  S2DataType kind = type.kind == 'f'                       ? S2_DATA_NUMBER
                    : type.kind == 'b'                     ? S2_DATA_FLAG
                    : type.kind == 'U' || type.kind == 'S' ? S2_DATA_TEXT
                                                           : S2_DATA_INTEGER;
  size_t text_bytes = kind == S2_DATA_TEXT ? size + count : 0;
  S2DataArray *array = NULL;
  S2_TRY(s2_data_add_read(path, set, name, kind, line->axes, line->shape, text_bytes, &array));
  if (!npy_fill(array, line, &type, bytes, count)) {
    return s2_data_refuse(path,
                          kind == S2_DATA_TEXT ? "%s has a text that contains a zero character"
                                               : "%s has an integer above 2^63 - 1",
                          what);
  }
  return s2_ok();
}

S2Status s2_npy_decode(const char *path, const char *what, const unsigned char *bytes, size_t size,
                       const char *name, S2DataSet *set) {
  if (size < PREFIX || memcmp(bytes, MAGIC, 6) != 0) {
    return s2_data_refuse(path, "%s is not in NumPy's format (.npy)", what);
  }
  int version = bytes[6];
  size_t prefix = version == 1 ? PREFIX : PREFIX + 2;
  if (version < 1 || version > 3 || size < prefix) {
    return s2_data_refuse(path, "%s has version %d of the format; 1 to 3 are supported", what,
                          version);
  }
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) {
    length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  }
  if (length > size - prefix || length > LONGEST_LINE ||
      memchr(bytes + prefix, 0, length) != NULL) {
    return s2_data_refuse(path, "the header of %s is damaged", what);
  }
  char *text = s2_data_copy_text((const char *)bytes + prefix, length);
  Line line = {.at = text};
  S2Status status = npy_read_line(path, what, &line);
  s2_memory_free(text);
  if (status.code != S2_OK) {
    return status;
  }
  return decode_values(path, what, &line, bytes + prefix + length, size - prefix - length, name,
                       set);
}
