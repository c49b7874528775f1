// Reads the values of an array from an HDF5 file. They are stored contiguously, in the header, or
// in chunks. Chunks may be compressed, and are listed in a tree.
#include "record/data/h5/h5.h"

#include <string.h>

static const char DAMAGED[] = "its layout is damaged";
static const char OTHER[] =
    "this storage layout is not supported (supported: contiguous, or chunks as h5py writes them "
    "without libver=\"latest\"; h5repack -l CONTI makes it contiguous)";
static const char FILTER[] =
    "the data are packed by an unsupported filter (supported: deflate and shuffle)";

enum { MOST_FILTERS = 8 };

typedef struct Layout {
  const S2H5Type *type;
  const S2H5Space *space;
  uint64_t size; // bytes of all values
  uint64_t chunk[S2_DATA_AXES];
  uint64_t chunk_size; // bytes of an uncompressed chunk
  unsigned filters[MOST_FILTERS], filter_count;
  unsigned char *values; // of all
  unsigned char *one[2]; // buffers for a chunk
} Layout;

// ---- Filters ----------------------------------------------------------------------------------

enum { DEFLATE = 1, SHUFFLE = 2 };

static bool read_filters(S2H5 *h5, const S2H5Object *object, Layout *layout) {
  enum { LEAST_NAMED = 256, ALIGNMENT = 8 };
  const S2H5Message *message = s2_h5_message(object, S2_H5_FILTERS);
  if (message == NULL) {
    return true;
  }
  S2H5View view = message->data;
  // Version 1 pads names to 8 bytes, and pads odd lists of numbers.
  uint64_t version = s2_h5_number(&view, 1), count = s2_h5_number(&view, 1);
  s2_h5_part(&view, version == 1 ? 6 : 0);
  if (message->shared || version < 1 || version > 2 || count > MOST_FILTERS) {
    return s2_h5_fail(h5, FILTER);
  }
  for (uint64_t i = 0; i < count; i++) {
    // A filter has a number, a name, flags, and parameters.
    uint64_t filter = s2_h5_number(&view, 2);
    bool named = version == 1 || filter >= LEAST_NAMED;
    uint64_t name = named ? s2_h5_number(&view, 2) : 0;
    s2_h5_part(&view, 2);
    uint64_t numbers = s2_h5_number(&view, 2);
    bool filled = version == 1 && name % ALIGNMENT != 0;
    s2_h5_part(&view, name + (filled ? ALIGNMENT - name % ALIGNMENT : 0));
    s2_h5_part(&view, 4 * (numbers + (version == 1 ? numbers % 2 : 0)));
    // Keep the order, because filters are reversed from the last to the first.
    if (filter != DEFLATE && filter != SHUFFLE) {
      return s2_h5_fail(h5, FILTER);
    }
    layout->filters[layout->filter_count++] = (unsigned)filter;
  }
  return !view.bad || s2_h5_fail(h5, DAMAGED);
}

// The input contains the first bytes of all values, then the second bytes of all values, and so on.
static void h5_unshuffle(const unsigned char *from, unsigned char *to, size_t count, size_t size) {
  for (size_t k = 0; k < size; k++) {
    for (size_t i = 0; i < count; i++) {
      to[i * size + k] = from[k * count + i];
    }
  }
}

// Returns the values of a chunk, or NULL. Bits set in `skipped` mark filters that were not applied
// to this chunk.
static const unsigned char *h5_unpack(S2H5 *h5, const Layout *layout, S2H5View packed,
                                      uint64_t skipped) {
  const unsigned char *at = packed.at;
  uint64_t size = (uint64_t)(packed.end - packed.at);
  int into = 0;
  for (unsigned i = layout->filter_count; i-- > 0;) { // the last filter is reversed first
    if ((skipped >> i & 1) != 0) {
      continue;
    }
    // Use two buffers alternately.
    unsigned char *to = layout->one[into];
    if (layout->filters[i] == DEFLATE) {
      if (size < layout->chunk_size / S2_DEFLATE_MOST ||
          !s2_data_inflate(at, size, to, layout->chunk_size, true)) {
        s2_h5_fail(h5, "a chunk of the data is damaged");
        return NULL;
      }
      size = layout->chunk_size;
    } else if (size != layout->chunk_size) {
      break;
    } else {
      h5_unshuffle(at, to, size / layout->type->size, layout->type->size);
    }
    at = to;
    into = 1 - into;
  }
  // The result must be a whole chunk.
  if (size != layout->chunk_size) {
    s2_h5_fail(h5, "a chunk of the data is damaged");
    return NULL;
  }
  return at;
}

// ---- Chunks -----------------------------------------------------------------------------------

// Copies the part of the chunk that is inside the array.
static void h5_place(const Layout *layout, const uint64_t *offset, const unsigned char *chunk) {
  int last = layout->space->axes - 1;
  uint64_t size = layout->type->size, index[S2_DATA_AXES] = {0}, within[S2_DATA_AXES] = {0};
  // Clip the chunk to the array.
  for (int i = 0; i <= last; i++) {
    if (offset[i] >= layout->space->shape[i]) {
      return;
    }
    uint64_t left = layout->space->shape[i] - offset[i];
    within[i] = left < layout->chunk[i] ? left : layout->chunk[i];
  }
  // Copy rows along the last axis. Advance the other indices like the digits of a counter.
  for (;;) {
    uint64_t from = 0, to = 0;
    for (int i = 0; i <= last; i++) {
      from = from * layout->chunk[i] + index[i];
      to = to * layout->space->shape[i] + offset[i] + index[i];
    }
    memcpy(layout->values + to * size, chunk + from * size, within[last] * size);
    int axis = last - 1;
    while (axis >= 0 && axis < S2_DATA_AXES && ++index[axis] == within[axis]) {
      index[axis--] = 0;
    }
    if (axis < 0) {
      return;
    }
  }
}

static bool h5_take_chunk(S2H5 *h5, const Layout *layout, S2H5View key, uint64_t address) {
  uint64_t size = s2_h5_number(&key, 4), skipped = s2_h5_number(&key, 4);
  uint64_t offset[S2_DATA_AXES];
  for (int i = 0; i < layout->space->axes; i++) {
    offset[i] = s2_h5_number(&key, 8);
  }
  S2H5View packed = s2_h5_stored(h5, address, size);
  if (key.bad || packed.bad) {
    return s2_h5_fail(h5, DAMAGED);
  }
  const unsigned char *chunk = h5_unpack(h5, layout, packed, skipped);
  if (chunk != NULL) {
    h5_place(layout, offset, chunk);
  }
  return chunk != NULL;
}

// `above` is the level of the parent node.
static bool h5_read_tree(S2H5 *h5, const Layout *layout, uint64_t address, uint64_t above) {
  enum { CHUNKS = 1 };
  // A leaf lists the chunks, each by a key (size, skipped filters, offset) and an address. Nodes at
  // higher levels list other nodes.
  unsigned start = 8 + 2 * h5->offsets, key = 8 + 8 * ((unsigned)layout->space->axes + 1);
  S2H5View header = s2_h5_view(h5, address, start);
  s2_h5_starts(&header, "TREE");
  uint64_t type = s2_h5_number(&header, 1), level = s2_h5_number(&header, 1);
  uint64_t count = s2_h5_number(&header, 2);
  S2H5View view = s2_h5_view(h5, address + start, count * (key + h5->offsets));
  if (header.bad || view.bad || type != CHUNKS || level >= above) {
    return s2_h5_fail(h5, DAMAGED);
  }
  bool good = true;
  for (uint64_t i = 0; i < count && good; i++) {
    S2H5View first = s2_h5_part(&view, key);
    uint64_t child = s2_h5_address(h5, &view);
    good = level > 0 ? h5_read_tree(h5, layout, child, level)
                     : h5_take_chunk(h5, layout, first, child);
  }
  return good;
}

static bool read_chunks(S2H5 *h5, S2H5View view, const S2H5Object *object, Layout *layout) {
  enum { DEEPEST = 32 };
  int axes = layout->space->axes;
  // A chunk has one more axis than the array, for the bytes of a value.
  bool fits = s2_h5_number(&view, 1) == (uint64_t)axes + 1 && axes > 0;
  uint64_t tree = s2_h5_address(h5, &view);
  layout->chunk_size = layout->type->size;
  for (int i = 0; i < axes && fits; i++) {
    layout->chunk[i] = s2_h5_number(&view, 4);
    fits = layout->chunk[i] > 0 && layout->chunk[i] <= UINT32_MAX / layout->chunk_size;
    layout->chunk_size *= layout->chunk[i];
  }
  fits = fits && s2_h5_number(&view, 4) == layout->type->size;
  if (!fits || view.bad) {
    return s2_h5_fail(h5, DAMAGED);
  }
  // If no chunk was written, all values are equal to the fill value.
  if (tree == S2_H5_NOWHERE) {
    return true;
  }
  if (!read_filters(h5, object, layout)) {
    return false;
  }
  // Before memory is allocated, reject chunks that are too large to be compressed into this file.
  if (layout->chunk_size / S2_DEFLATE_MOST > h5->size) {
    return s2_h5_fail(h5, DAMAGED);
  }
  for (int i = 0; i < 2; i++) {
    layout->one[i] = s2_memory_take(layout->chunk_size);
  }
  return h5_read_tree(h5, layout, tree, DEEPEST);
}

// ---- Arrays -----------------------------------------------------------------------------------

// Sets all values to the fill value. Parts that were never written keep it.
static void h5_fill(const S2H5Object *object, const Layout *layout) {
  enum { GIVEN = 0x20 };
  const S2H5Message *message = s2_h5_message(object, S2_H5_FILL);
  S2H5View view = {0};
  bool given = message != NULL;
  // Fill value messages have three forms. The oldest one has its own message kind.
  if (given) {
    view = message->data;
    uint64_t version = s2_h5_number(&view, 1);
    uint64_t flags = s2_h5_number(&view, 1);
    if (version > 2) {
      given = (flags & GIVEN) != 0;
    } else {
      s2_h5_part(&view, 1);
      given = s2_h5_number(&view, 1) != 0 || version == 1;
    }
  } else if ((message = s2_h5_message(object, S2_H5_OLD_FILL)) != NULL) {
    view = message->data;
    given = true;
  }
  // Use zero if there is no fill value, or if it has a different size.
  uint64_t size = given ? s2_h5_number(&view, 4) : 0;
  S2H5View value = s2_h5_part(&view, size);
  if (!given || view.bad || value.bad || size != layout->type->size) {
    memset(layout->values, 0, layout->size);
    return;
  }
  for (uint64_t at = 0; at < layout->size; at += size) {
    memcpy(layout->values + at, value.at, size);
  }
}

static bool take_values(S2H5 *h5, const S2H5Object *object, Layout *layout, S2H5Values *values) {
  enum { COMPACT = 0, TOGETHER = 1, CHUNKED = 2 };
  const S2H5Message *message = s2_h5_message(object, S2_H5_LAYOUT);
  S2H5View view = message->data;
  // Read layouts of version 3, and layouts of version 4 without chunks.
  uint64_t version = s2_h5_number(&view, 1), class = s2_h5_number(&view, 1);
  if (message->shared || version < 3 || version > 4 || class > CHUNKED ||
      (version == 4 && class == CHUNKED)) {
    return s2_h5_fail(h5, OTHER);
  }
  // Compact values are in the message. Contiguous values are at an address of the file, unless they
  // were never written.
  S2H5View bytes = {0};
  if (class == COMPACT) {
    uint64_t size = s2_h5_number(&view, 2);
    bytes = s2_h5_part(&view, size);
  } else if (class == TOGETHER) {
    uint64_t address = s2_h5_address(h5, &view), size = s2_h5_length(h5, &view);
    bytes.bad = view.bad || (address != S2_H5_NOWHERE && size < layout->size);
    if (address != S2_H5_NOWHERE && !bytes.bad) {
      bytes = s2_h5_stored(h5, address, layout->size);
    }
  }
  if (bytes.bad || (bytes.at != NULL && (uint64_t)(bytes.end - bytes.at) < layout->size)) {
    return s2_h5_fail(h5, DAMAGED);
  }
  // If the file contains the values unchanged, use them in place.
  values->bytes = bytes.at;
  if (bytes.at != NULL) {
    return true;
  }
  // Otherwise collect the values. Values without a chunk keep the fill value.
  values->bytes = values->owned = layout->values = s2_memory_take(layout->size);
  h5_fill(object, layout);
  return class == TOGETHER || read_chunks(h5, view, object, layout);
}

bool s2_h5_values(S2H5 *h5, const S2H5Object *object, const S2H5Type *type, const S2H5Space *space,
                  S2H5Values *values) {
  *values = (S2H5Values){0};
  Layout layout = {.type = type, .space = space, .size = space->count * type->size};
  if (layout.size == 0) {
    return true;
  }
  if (s2_h5_message(object, S2_H5_LAYOUT) == NULL) {
    return s2_h5_fail(h5, DAMAGED);
  }
  if (!s2_h5_pay(h5, 0, layout.size)) {
    return false;
  }
  bool good = take_values(h5, object, &layout, values);
  s2_memory_free(layout.one[0]);
  s2_memory_free(layout.one[1]);
  if (!good) {
    s2_memory_free(values->owned);
    *values = (S2H5Values){0};
  }
  return good;
}
