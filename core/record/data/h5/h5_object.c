// Reads the headers of objects. Their messages are in several parts of the file, or in a heap.
#include "record/data/h5/h5.h"

#include <string.h>

typedef struct Header {
  bool new;     // version 2
  bool ordered; // true if messages have a creation order, only in version 2
} Header;

static bool take_messages(S2H5 *h5, Header header, S2H5View view, S2H5Object *object) {
  enum { SHARED = 2 };
  unsigned size_of_head = header.new ? (header.ordered ? 6 : 4) : 8;
  while (!view.bad && view.end - view.at >= (ptrdiff_t)size_of_head) {
    S2H5Message message = {0};
    message.kind = (S2H5Kind)s2_h5_number(&view, header.new ? 1 : 2);
    uint64_t size = s2_h5_number(&view, 2);
    message.shared = (s2_h5_number(&view, 1) & SHARED) != 0;
    s2_h5_part(&view, header.new ? (header.ordered ? 2 : 0) : 3);
    message.data = s2_h5_part(&view, size);
    *s2_array_append(*object) = message;
  }
  return !view.bad || s2_h5_fail(h5, "the header of an object of the file is damaged");
}

// Reads the first part of the header. *view receives its messages.
static bool read_start(S2H5 *h5, uint64_t address, Header *header, S2H5View *view) {
  enum { ORDERED = 4, PHASES = 16, TIMES = 32, OLD_START = 16, LARGEST_START = 64 };
  S2H5View start = s2_h5_view(h5, address, OLD_START);
  *header = (Header){.new = !start.bad &&memcmp(start.at, "OHDR", 4) == 0};
  if (!header->new) {
    bool good = s2_h5_number(&start, 1) == 1;
    s2_h5_part(&start, 7); // skip the numbers of messages and references
    uint64_t size = s2_h5_number(&start, 4);
    *view = s2_h5_view(h5, address + OLD_START, size);
    return good && !start.bad && !view->bad;
  }
  s2_h5_part(&start, 4);
  bool good = s2_h5_number(&start, 1) == 2;
  uint64_t flags = s2_h5_number(&start, 1);
  header->ordered = (flags & ORDERED) != 0;
  unsigned skipped = 6 + ((flags & TIMES) != 0 ? 16u : 0) + ((flags & PHASES) != 0 ? 4u : 0);
  unsigned width = 1u << (flags & 3);
  S2H5View number = s2_h5_view(h5, address + skipped, width);
  uint64_t size = s2_h5_number(&number, width);
  *view = s2_h5_view(h5, address + skipped + width, size);
  return good && !start.bad && !number.bad && !view->bad;
}

// Reads more messages at another address.
static bool h5_follow(S2H5 *h5, Header header, S2H5View where, S2H5Object *object) {
  enum { CHECKSUM = 4 };
  uint64_t address = s2_h5_address(h5, &where), size = s2_h5_length(h5, &where);
  S2H5View view = s2_h5_view(h5, address, where.bad ? UINT64_MAX : size);
  if (header.new &&s2_h5_starts(&view, "OCHK")) {
    if (view.end - view.at < CHECKSUM) {
      view.bad = true;
    } else {
      view.end -= CHECKSUM;
    }
  }
  if (view.bad) {
    return s2_h5_fail(h5, "the header of an object of the file is damaged");
  }
  return take_messages(h5, header, view, object);
}

bool s2_h5_object(S2H5 *h5, uint64_t address, S2H5Object *object) {
  Header header;
  S2H5View view;
  if (!read_start(h5, address, &header, &view)) {
    return s2_h5_fail(h5, "the header of an object of the file is damaged");
  }
  // Read each object only once, so that circular links end.
  uint64_t place = h5->base + address; // in range, because the header is inside the file
  if ((h5->seen[place / 8] >> (place % 8) & 1) != 0) {
    return true; // this object was already read under another name
  }
  h5->seen[place / 8] |= (unsigned char)(1u << (place % 8));
  // Read the messages of the object. Some of them contain addresses of more messages.
  int first = object->count;
  bool good = take_messages(h5, header, view, object);
  for (int i = first; i < object->count && good; i++) { // the list grows during the loop
    const S2H5Message message = object->at[i];
    S2H5View data = message.data;
    if (message.kind == S2_H5_CONTINUATION) {
      good = h5_follow(h5, header, data, object);
    } else if (message.kind == S2_H5_LINK_INFO || message.kind == S2_H5_ATTRIBUTE_INFO) {
      bool links = message.kind == S2_H5_LINK_INFO;
      // Many links or attributes are stored in a heap, and a tree contains their offsets.
      s2_h5_part(&data, 1);
      bool numbered = (s2_h5_number(&data, 1) & 1) != 0;
      s2_h5_part(&data, numbered ? (links ? 8 : 2) : 0);
      uint64_t heap = s2_h5_address(h5, &data), tree = s2_h5_address(h5, &data);
      if (data.bad) {
        return s2_h5_fail(h5, "the header of an object of the file is damaged");
      }
      good = heap == S2_H5_NOWHERE ||
             s2_h5_dense(h5, heap, tree, links ? S2_H5_LINK : S2_H5_ATTRIBUTE, object);
    }
  }
  return good;
}

const S2H5Message *s2_h5_message(const S2H5Object *object, S2H5Kind kind) {
  for (int i = 0; i < object->count; i++) {
    if (object->at[i].kind == kind) {
      return &object->at[i];
    }
  }
  return NULL;
}
