#include "record/data/h5/h5.h"

#include <string.h>

static const char DAMAGED[] = "not an HDF5 file, or damaged (versions 0 to 3 are supported)";

enum { LEAST_BLOCK = 512 }; // the superblock may start at byte 0, 512, 1024, 2048, ...

bool s2_h5_fail(S2H5 *h5, const char *trouble) {
  h5->trouble = h5->trouble != NULL ? h5->trouble : trouble;
  return false;
}

// ---- Views ------------------------------------------------------------------------------------

S2H5View s2_h5_view(S2H5 *h5, uint64_t address, uint64_t size) {
  static const unsigned char nothing = 0;
  uint64_t all = h5->size - h5->base;
  // also rejects S2_H5_NOWHERE
  if (address > all || size > all - address || size > h5->structure) {

    return (S2H5View){&nothing, &nothing, true};
  }
  h5->structure -= size;
  const unsigned char *at = h5->bytes + h5->base + address;
  return (S2H5View){at, at + size, false};
}

S2H5View s2_h5_stored(S2H5 *h5, uint64_t address, uint64_t size) {
  uint64_t before = h5->structure;
  h5->structure = UINT64_MAX; // charges another budget
  S2H5View view = s2_h5_view(h5, address, size);
  h5->structure = before;
  view.bad = view.bad || !s2_h5_pay(h5, size, 0);
  return view;
}

bool s2_h5_pay(S2H5 *h5, uint64_t stored, uint64_t unpacked) {
  if (stored > h5->stored || unpacked > h5->unpacked) {
    return s2_h5_fail(h5, "the file claims more data than a file of this size can hold");
  }
  h5->stored -= stored;
  h5->unpacked -= unpacked;
  return true;
}

S2H5View s2_h5_part(S2H5View *view, uint64_t size) {
  if (size > (uint64_t)(view->end - view->at)) {
    view->bad = true;
    view->at = view->end;
    return (S2H5View){view->end, view->end, true};
  }
  view->at += size;
  return (S2H5View){view->at - size, view->at, view->bad};
}

uint64_t s2_h5_number(S2H5View *view, unsigned bytes) {
  S2H5View part = s2_h5_part(view, bytes);
  uint64_t number = 0;
  for (unsigned i = 0; i < bytes && !part.bad; i++) {
    number |= (uint64_t)part.at[i] << (8 * i);
  }
  return number;
}

uint64_t s2_h5_length(const S2H5 *h5, S2H5View *view) {
  return s2_h5_number(view, h5->lengths);
}

uint64_t s2_h5_address(const S2H5 *h5, S2H5View *view) {
  uint64_t address = s2_h5_number(view, h5->offsets);
  uint64_t none = UINT64_MAX >> (64 - 8 * h5->offsets);
  return address == none ? S2_H5_NOWHERE : address;
}

bool s2_h5_starts(S2H5View *view, const char magic[5]) {
  S2H5View part = s2_h5_part(view, 4);
  view->bad = view->bad || part.bad || memcmp(part.at, magic, 4) != 0;
  return !view->bad;
}

// ---- The file ---------------------------------------------------------------------------------

static bool read_superblock(S2H5 *h5, S2H5View view) {
  enum { OLD_FLAGS = 4, OLD_NUMBERS = 4 };
  // Versions 0 and 1 have more fields, but only the widths of numbers are needed.
  uint64_t version = s2_h5_number(&view, 1);
  bool old = version < 2;
  s2_h5_part(&view, old ? 4 : 0); // version numbers of other parts, which have only one version
  h5->offsets = (unsigned)s2_h5_number(&view, 1);
  h5->lengths = (unsigned)s2_h5_number(&view, 1);
  bool sizes = (h5->offsets == 4 || h5->offsets == 8) && (h5->lengths == 4 || h5->lengths == 8);
  if (version > 3 || !sizes) {
    return s2_h5_fail(h5, DAMAGED);
  }
  s2_h5_part(&view, old ? 1 + OLD_NUMBERS + OLD_FLAGS : 1);
  s2_h5_part(&view, version == 1 ? 4 : 0);
  // Read the origin of addresses and the root group.
  uint64_t base = s2_h5_address(h5, &view);
  s2_h5_address(h5, &view); // skip the address of free space or of an extension
  s2_h5_address(h5, &view); // the end
  if (old) {
    s2_h5_address(h5, &view); // driver
    s2_h5_address(h5, &view); // name of the root group
  }
  h5->root = s2_h5_address(h5, &view);
  if (view.bad || base > h5->size) {
    return s2_h5_fail(h5, DAMAGED);
  }
  h5->base = base;
  return true;
}

bool s2_h5_open(S2H5 *h5, const S2DataFile *file) {
  static const char magic[] = "\x89HDF\r\n\x1a\n";
  // The structure may be read WALKS times. LEAST is added for small files.
  enum { WALKS = 16, LEAST = 1 << 16 };
  *h5 = (S2H5){.bytes = file->bytes, .size = file->size, .stored = file->size};
  h5->structure = WALKS * (uint64_t)file->size + LEAST;
  h5->unpacked = S2_DEFLATE_MOST * (uint64_t)file->size;
  for (uint64_t at = 0; at + sizeof magic <= file->size; at = at == 0 ? LEAST_BLOCK : 2 * at) {
    if (memcmp(file->bytes + at, magic, sizeof magic - 1) == 0) {
      h5->seen = s2_memory_take_zeroed(file->size / 8 + 1);
      uint64_t start = at + sizeof magic - 1;
      return read_superblock(h5, s2_h5_view(h5, start, file->size - start));
    }
  }
  return s2_h5_fail(h5, DAMAGED);
}

void s2_h5_close(S2H5 *h5) {
  s2_memory_free(h5->seen);
  s2_array_free(h5->collections);
  s2_array_free(h5->texts);
}
