// Reads types, shapes, texts in heaps, and attributes of HDF5 files.
#include "record/data/h5/h5.h"

#include <stdlib.h>
#include <string.h>

static const char DAMAGED[] = "its description is damaged";
static const char ATTRIBUTE[] = "an attribute of the data is damaged";
static const char TEXTS[] = "the position of a text in the file is wrong";

// ---- Types and shapes -------------------------------------------------------------------------

static S2H5Class float_class(S2H5View view, uint64_t bits, uint32_t size) {
  // The bit layout of IEEE 754 numbers. The fields are the position of the sign, the position and
  // size of the exponent, the position and size of the mantissa, and the bias.
  static const uint64_t single[] = {31, 32, 23, 8, 0, 23, 127};
  static const uint64_t twice[] = {63, 64, 52, 11, 0, 52, 1023};
  enum { VAX = 0x40, NORM = 0x30, IMPLIED = 0x20 };
  uint64_t offset = s2_h5_number(&view, 2);
  uint64_t got[7] = {bits >> 8 & 0xff, s2_h5_number(&view, 2)};
  for (int i = 2; i < 6; i++) {
    got[i] = s2_h5_number(&view, 1);
  }
  got[6] = s2_h5_number(&view, 4);
  const uint64_t *want = size == sizeof(float) ? single : twice;
  bool known = !view.bad && (size == sizeof(float) || size == sizeof(double)) && offset == 0 &&
               memcmp(got, want, sizeof got) == 0 && (bits & VAX) == 0 && (bits & NORM) == IMPLIED;
  return known ? S2_H5_FLOAT : S2_H5_OTHER;
}

bool s2_h5_type(S2H5 *h5, S2H5View view, S2H5Type *type) {
  enum { INTEGER = 0, FLOAT = 1, TEXT = 3, ENUM = 8, IN_HEAP = 9 };
  enum { BIG_ENDIAN_BIT = 1, SIGNED = 8, PADDING = 15, BLANKS = 2 };
  // Read the class, 24 bits that depend on the class, and the bytes per value (section IV.A.2.d of
  // the specification).
  uint64_t class = s2_h5_number(&view, 1) & 15, bits = s2_h5_number(&view, 3);
  uint64_t size = s2_h5_number(&view, 4);
  *type = (S2H5Type){.class = S2_H5_OTHER, .size = (uint32_t)size};
  if (view.bad || size == 0) {
    return s2_h5_fail(h5, DAMAGED);
  }
  type->big_endian = (bits & BIG_ENDIAN_BIT) != 0;
  // Only integers without padding bits, floats, flags, and texts of fixed size or in a heap are
  // supported.
  if (class == INTEGER) {
    uint64_t offset = s2_h5_number(&view, 2), precision = s2_h5_number(&view, 2);
    bool known = size <= sizeof(int64_t) && offset == 0 && precision == 8 * size && !view.bad;
    type->class = known ? S2_H5_INTEGER : S2_H5_OTHER;
    type->has_sign = (bits & SIGNED) != 0;
  } else if (class == FLOAT) {
    type->class = float_class(view, bits, type->size);
  } else if (class == TEXT) {
    type->class = S2_H5_TEXT;
    type->padded = (bits & PADDING) == BLANKS;
  } else if (class == ENUM && size == 1) { // boolean flags in the form that h5py writes
    type->class = S2_H5_FLAG;
  } else if (class == IN_HEAP && (bits & PADDING) == 1) {
    type->class = S2_H5_TEXT;
    type->in_heap = true;
    return size == 8 + h5->offsets || s2_h5_fail(h5, DAMAGED);
  }
  return true;
}

bool s2_h5_space(S2H5 *h5, S2H5View view, S2H5Space *space) {
  enum { EMPTY = 2 };
  uint64_t version = s2_h5_number(&view, 1), axes = s2_h5_number(&view, 1);
  s2_h5_part(&view, 1);
  uint64_t kind = s2_h5_number(&view, 1);
  s2_h5_part(&view, version == 1 ? 4 : 0);
  if (view.bad || version < 1 || version > 2) {
    return s2_h5_fail(h5, DAMAGED);
  }
  if (axes > S2_DATA_AXES || (version == 2 && kind == EMPTY)) {
    return s2_h5_fail(h5, "the array is empty or has more than 8 axes");
  }
  *space = (S2H5Space){.axes = (int)axes, .count = 1};
  bool empty = false;
  for (int i = 0; i < space->axes; i++) {
    space->shape[i] = s2_h5_length(h5, &view);
    empty = empty || space->shape[i] == 0;
  }
  for (int i = 0; i < space->axes && !empty; i++) {
    if (space->shape[i] > UINT32_MAX / space->count) {
      return s2_h5_fail(h5, "it is too large");
    }
    space->count *= space->shape[i];
  }
  space->count = empty ? 0 : space->count;
  return !view.bad || s2_h5_fail(h5, DAMAGED);
}

// ---- Texts in heaps ---------------------------------------------------------------------------

static int by_number(const void *a, const void *b) {
  uint32_t x = ((const S2H5Text *)a)->number, y = ((const S2H5Text *)b)->number;
  return (x > y) - (x < y);
}

static bool read_collection(S2H5 *h5, uint64_t address, S2H5Collection *collection) {
  enum { LEAST = 4096, ALIGNMENT = 8 };
  // Read the magic number, the version, and the size of the collection.
  S2H5View header = s2_h5_view(h5, address, 8 + h5->lengths);
  s2_h5_starts(&header, "GCOL");
  s2_h5_part(&header, 4);
  uint64_t size = s2_h5_length(h5, &header), start = 8 + h5->lengths;
  if (header.bad || size < LEAST) {
    return s2_h5_fail(h5, TEXTS);
  }
  // Read the objects of the heap. Each has a number, a reference count, a length, and bytes that
  // are padded to a multiple of 8. Number 0 is free space.
  S2H5View view = s2_h5_view(h5, address + start, size - start);
  *collection = (S2H5Collection){address, h5->texts.count, 0};
  while (!view.bad && view.end - view.at >= (ptrdiff_t)start) {
    S2H5Text text = {.number = (uint32_t)s2_h5_number(&view, 2)};
    s2_h5_part(&view, 6); // references
    uint64_t length = s2_h5_length(h5, &view);
    if (text.number == 0) {
      break; // the remainder is free space
    }
    text.bytes = s2_h5_part(&view, length);
    uint64_t past = length % ALIGNMENT == 0 ? 0 : ALIGNMENT - length % ALIGNMENT;
    uint64_t left = (uint64_t)(view.end - view.at);
    s2_h5_part(&view, past < left ? past : left);
    *s2_array_append(h5->texts) = text;
    collection->count++;
  }
  if (view.bad) {
    return s2_h5_fail(h5, TEXTS);
  }
  // Sort the texts, for searches by number.
  if (collection->count > 1) {
    qsort(h5->texts.at + collection->first, (size_t)collection->count, sizeof *h5->texts.at,
          by_number);
  }
  return true;
}

static bool find_collection(S2H5 *h5, uint64_t address, S2H5Collection *found) {
  int low = 0, high = h5->collections.count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (h5->collections.at[middle].address < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < h5->collections.count && h5->collections.at[low].address == address) {
    *found = h5->collections.at[low];
    return true;
  }
  if (!read_collection(h5, address, found)) {
    return false;
  }
  (void)s2_array_append(h5->collections);
  S2H5Collection *at = h5->collections.at + low;
  memmove(at + 1, at, (size_t)(h5->collections.count - 1 - low) * sizeof *at);
  *at = *found;
  return true;
}

static bool add_heap_text(S2H5 *h5, S2H5View place, S2DataArray *array) {
  uint64_t length = s2_h5_number(&place, 4), address = s2_h5_address(h5, &place);
  S2H5Text key = {.number = (uint32_t)s2_h5_number(&place, 4)};
  if (length == 0 || address == 0) {
    s2_data_add_text(array, "");
    return true;
  }
  S2H5Collection collection = {0};
  if (!find_collection(h5, address, &collection)) {
    return false;
  }
  const S2H5Text *text = collection.count == 0
                             ? NULL
                             : bsearch(&key, h5->texts.at + collection.first,
                                       (size_t)collection.count, sizeof key, by_number);
  if (text == NULL || length > (uint64_t)(text->bytes.end - text->bytes.at)) {
    return s2_h5_fail(h5, TEXTS);
  }
  if (!s2_h5_pay(h5, length, length)) {
    return false;
  }
  s2_data_add_text_part(array, (const char *)text->bytes.at, (size_t)length);
  return true;
}

// ---- Values -----------------------------------------------------------------------------------

static uint64_t h5_load(const S2H5Type *type, const unsigned char *at) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < type->size; i++) {
    bits = bits << 8 | at[type->big_endian ? i : type->size - 1 - i];
  }
  return bits;
}

static double h5_load_float(const S2H5Type *type, const unsigned char *at) {
  uint64_t bits = h5_load(type, at);
  if (type->size == sizeof(double)) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  uint32_t half = (uint32_t)bits;
  float value;
  memcpy(&value, &half, sizeof value);
  return (double)value;
}

// Returns false if the value is larger than an int64_t.
static bool h5_load_integer(const S2H5Type *type, const unsigned char *at, int64_t *value) {
  uint64_t bits = h5_load(type, at);
  unsigned unused = type->size > 0 && type->size < 8 ? 64 - 8 * type->size : 0;
  if (type->has_sign && unused > 0 && (bits >> (63 - unused) & 1) != 0) {
    bits |= UINT64_MAX << (64 - unused);
  }
  memcpy(value, &bits, sizeof bits);
  return type->has_sign || bits <= INT64_MAX;
}

static void add_text(const S2H5Type *type, const unsigned char *at, S2DataArray *array) {
  const unsigned char *end = memchr(at, 0, type->size);
  end = end != NULL ? end : at + type->size;
  while (type->padded && end > at && end[-1] == ' ') {
    end--;
  }
  s2_data_add_text_part(array, (const char *)at, (size_t)(end - at));
}

bool s2_h5_decode(S2H5 *h5, const S2H5Type *type, const unsigned char *bytes, size_t count,
                  S2DataArray *array) {
  bool good = true;
  // Convert values one by one, because they may have another byte order or size.
  for (size_t i = 0; i < count && good; i++, bytes += type->size) {
    switch (type->class) {
    case S2_H5_FLOAT:
      ((double *)array->values)[i] = h5_load_float(type, bytes);
      break;
    case S2_H5_INTEGER:
      good = h5_load_integer(type, bytes, (int64_t *)array->values + i) ||
             s2_h5_fail(h5, "the array has an integer above 2^63 - 1");
      break;
    case S2_H5_FLAG:
      ((unsigned char *)array->values)[i] = *bytes != 0;
      break;
    case S2_H5_TEXT:
      if (type->in_heap) {
        good = add_heap_text(h5, (S2H5View){bytes, bytes + type->size, false}, array);
      } else {
        add_text(type, bytes, array);
      }
      break;
    case S2_H5_OTHER:
      good = s2_h5_fail(h5, "the values are neither numbers nor texts");
      break;
    }
  }
  return good;
}

// ---- Attributes -------------------------------------------------------------------------------

bool s2_h5_attribute(S2H5 *h5, const S2H5Message *message, char **name, char **value) {
  enum { SHARED = 3, ALIGNMENT = 8 };
  *name = *value = NULL;
  S2H5View view = message->data;
  // Read the sizes of the name, type and shape, which follow in this order. Version 1 pads each of
  // them to 8 bytes.
  uint64_t version = s2_h5_number(&view, 1), flags = s2_h5_number(&view, 1), sizes[3];
  for (int i = 0; i < 3; i++) {
    sizes[i] = s2_h5_number(&view, 2);
  }
  s2_h5_part(&view, version == 3 ? 1 : 0);
  S2H5View parts[3];
  for (int i = 0; i < 3; i++) {
    parts[i] = s2_h5_part(&view, sizes[i]);
    bool filled = version == 1 && sizes[i] % ALIGNMENT != 0;
    s2_h5_part(&view, filled ? ALIGNMENT - sizes[i] % ALIGNMENT : 0);
  }
  // Ignore shared or unknown attributes. Damaged attributes are errors.
  if (message->shared || version < 1 || version > 3 || (version > 1 && (flags & SHARED) != 0)) {
    return false;
  }
  if (view.bad || sizes[0] == 0 || parts[0].end[-1] != 0) {
    return s2_h5_fail(h5, ATTRIBUTE);
  }
  // Read only attributes that are a single text.
  S2H5Type type = {0};
  S2H5Space space = {0};
  bool text = s2_h5_type(h5, parts[1], &type) && type.class == S2_H5_TEXT &&
              s2_h5_space(h5, parts[2], &space) && space.count == 1;
  h5->trouble = NULL; // ignore attributes that are not a single text
  if (!text) {
    return false;
  }
  // The value follows name, type and shape.
  S2H5View bytes = s2_h5_part(&view, type.size);
  S2DataArray array = {.type = S2_DATA_TEXT};
  if (bytes.bad) {
    return s2_h5_fail(h5, ATTRIBUTE);
  }
  if (!s2_h5_decode(h5, &type, bytes.at, 1, &array)) {
    return false;
  }
  *name = s2_data_copy_text((const char *)parts[0].at, sizes[0] - 1);
  *value = array.values;
  return true;
}
