// Groups of HDF5 files. Old groups are a tree of nodes that list symbols, with the names of the
// symbols in a heap. New groups have link messages in the header. If there are many messages, they
// are in a fractal heap, and a tree contains their addresses.
#include "record/data/h5/h5.h"

#include <stdlib.h>
#include <string.h>

static const char DAMAGED[] = "a group of the file is damaged";
static const char LARGE[] = "a group of the file is too large for this reader";

// ---- Old groups -------------------------------------------------------------------------------

typedef struct OldGroup {
  S2H5 *h5;
  S2H5View names;
  S2H5Links *links;
} OldGroup;

static bool add_link(S2H5 *h5, S2H5Links *links, S2H5View name, uint64_t address, uint64_t order) {
  size_t length = (size_t)(name.end - name.at);
  if (name.bad || length == 0 || memchr(name.at, 0, length) != NULL) {
    return s2_h5_fail(h5, DAMAGED);
  }
  *s2_array_append(*links) =
      (S2H5Link){s2_data_copy_text((const char *)name.at, length), address, order};
  return true;
}

static bool read_symbols(const OldGroup *group, uint64_t address) {
  enum { HEADER = 8, SOFT = 2, SCRATCH = 16 };
  S2H5 *h5 = group->h5;
  // A node consists of a magic number, the number of symbols, and the symbols.
  S2H5View header = s2_h5_view(h5, address, HEADER);
  s2_h5_starts(&header, "SNOD");
  s2_h5_part(&header, 2);
  uint64_t count = s2_h5_number(&header, 2), size = 2 * h5->offsets + 8 + SCRATCH;
  S2H5View view = s2_h5_view(h5, address + HEADER, count * size);
  if (header.bad || view.bad) {
    return s2_h5_fail(h5, DAMAGED);
  }
  bool good = true;
  // A symbol consists of the position of its name in the heap, the object's address, and the kind
  // of link.
  for (uint64_t i = 0; i < count && good; i++) {
    S2H5View name = group->names;
    s2_h5_part(&name, s2_h5_address(h5, &view));
    uint64_t object = s2_h5_address(h5, &view), kind = s2_h5_number(&view, 4);
    s2_h5_part(&view, 4 + SCRATCH);
    const unsigned char *end = memchr(name.at, 0, (size_t)(name.end - name.at));
    uint64_t length = (uint64_t)((end != NULL ? end : name.end) - name.at);
    name.bad = name.bad || end == NULL || length > h5->structure;
    h5->structure -=
        name.bad ? 0
                 : length; // long names use up the budget, because many symbols may share one name
    name.end = name.at + length;
    good = (kind == SOFT && !name.bad) || add_link(h5, group->links, name, object, 0);
  }
  return good;
}

// `above` is the level of the parent node. The recursion ends because levels decrease towards the
// leaves.
static bool h5_read_tree(const OldGroup *group, uint64_t address, uint64_t above) {
  S2H5 *h5 = group->h5;
  unsigned start = 8 + 2 * h5->offsets;
  S2H5View header = s2_h5_view(h5, address, start);
  s2_h5_starts(&header, "TREE");
  bool symbols = s2_h5_number(&header, 1) == 0;
  uint64_t level = s2_h5_number(&header, 1), count = s2_h5_number(&header, 2);
  S2H5View view = s2_h5_view(h5, address + start, count * (h5->lengths + h5->offsets));
  if (header.bad || view.bad || !symbols || level >= above) {
    return s2_h5_fail(h5, DAMAGED);
  }
  bool good = true;
  for (uint64_t i = 0; i < count && good; i++) {
    s2_h5_length(h5, &view); // the key
    uint64_t child = s2_h5_address(h5, &view);
    good = level > 0 ? h5_read_tree(group, child, level) : read_symbols(group, child);
  }
  return good;
}

static bool read_old(S2H5 *h5, S2H5View message, S2H5Links *links) {
  enum { DEEPEST = 32 };
  uint64_t tree = s2_h5_address(h5, &message), heap = s2_h5_address(h5, &message);
  S2H5View header = s2_h5_view(h5, heap, 8 + 2 * h5->lengths + h5->offsets);
  s2_h5_starts(&header, "HEAP");
  s2_h5_part(&header, 4);
  uint64_t size = s2_h5_length(h5, &header);
  s2_h5_length(h5, &header); // free space
  uint64_t at = s2_h5_address(h5, &header);
  OldGroup group = {h5, s2_h5_view(h5, at, header.bad ? UINT64_MAX : size), links};
  if (message.bad || header.bad || group.names.bad) {
    return s2_h5_fail(h5, DAMAGED);
  }
  return tree == S2_H5_NOWHERE || h5_read_tree(&group, tree, DEEPEST);
}

// ---- Fractal heaps ----------------------------------------------------------------------------

typedef struct Heap {
  unsigned offset_size, length_size; // sizes of an object's offset and length fields in bytes
  uint64_t width, start,
      largest;   // blocks per row, and sizes of the first block and of the largest blocks in bytes
  unsigned bits; // bytes of an offset
  uint64_t rows, root; // number of rows, and address of the root block. If rows is 0, the root
                       // block contains the objects
} Heap;

static unsigned bytes_for(uint64_t number) {
  unsigned bytes = 1;
  for (; bytes < 8 && number >> (8 * bytes) != 0; bytes++) {
  }
  return bytes;
}

static bool read_heap(S2H5 *h5, uint64_t address, Heap *heap) {
  // The header (III.G of the specification). Most of it is needed only by writers.
  unsigned size = 22 + 12 * h5->lengths + 3 * h5->offsets;
  S2H5View view = s2_h5_view(h5, address, size);
  s2_h5_starts(&view, "FRHP");
  s2_h5_part(&view, 1 + 2);
  uint64_t filters = s2_h5_number(&view, 2);
  s2_h5_part(&view, 1);
  uint64_t most = s2_h5_number(&view, 4);
  // Blocks form a table with `width` columns. The block size doubles from row to row.
  s2_h5_part(&view, 10 * h5->lengths + 2 * h5->offsets);
  heap->width = s2_h5_number(&view, 2);
  heap->start = s2_h5_length(h5, &view);
  heap->largest = s2_h5_length(h5, &view);
  heap->bits = (unsigned)s2_h5_number(&view, 2);
  s2_h5_part(&view, 2);
  heap->root = s2_h5_address(h5, &view);
  heap->rows = s2_h5_number(&view, 2);
  bool good = !view.bad && heap->width > 0 && heap->start > 0 && heap->largest >= heap->start &&
              heap->largest <= UINT32_MAX && heap->bits > 0 && heap->bits <= 64 && heap->rows <= 64;
  if (!good || filters > 0) {
    return s2_h5_fail(h5, good ? LARGE : DAMAGED);
  }
  // All offsets have as many bytes as the largest one needs, and so do all lengths.
  heap->offset_size = (heap->bits + 7) / 8;
  unsigned block_size = bytes_for(heap->largest - 1), object_size = bytes_for(most);
  heap->length_size = block_size < object_size ? block_size : object_size;
  return true;
}

// Finds the block that contains byte `offset` of the heap. Returns its address and the offset of
// its first byte.
static bool h5_find_block(S2H5 *h5, const Heap *heap, uint64_t offset, uint64_t *block,
                          uint64_t *start) {
  // A small heap consists of one block.
  *block = heap->root;
  *start = 0;
  if (heap->rows == 0) {
    return offset < heap->start || s2_h5_fail(h5, DAMAGED);
  }
  // Find the row from the sizes of the preceding rows.
  uint64_t size = heap->start, row = 0;
  for (; row < heap->rows && offset - *start >= heap->width * size; row++) {
    *start += heap->width * size;
    size *= row > 0 ? 2 : 1; // the first two rows have equal sizes
    if (size > heap->largest) {
      return s2_h5_fail(h5, LARGE); // the blocks of this row contain other blocks
    }
  }
  // Read the address of the block from this row of the table.
  uint64_t column = (offset - *start) / size;
  *start += column * size;
  uint64_t child = 5 + h5->offsets + heap->offset_size;
  S2H5View magic = s2_h5_view(h5, heap->root, 4);
  S2H5View view =
      s2_h5_view(h5, heap->root + child + (row * heap->width + column) * h5->offsets, h5->offsets);
  *block = s2_h5_address(h5, &view);
  if (!s2_h5_starts(&magic, "FHIB") || view.bad || row == heap->rows) {
    return s2_h5_fail(h5, DAMAGED);
  }
  return true;
}

static bool find_object(S2H5 *h5, const Heap *heap, S2H5View place, S2H5View *object) {
  enum { KIND = 0x30 };
  if ((s2_h5_number(&place, 1) & KIND) != 0) {
    return s2_h5_fail(h5, LARGE); // objects outside the blocks are not supported
  }
  uint64_t offset = s2_h5_number(&place, heap->offset_size);
  uint64_t length = s2_h5_number(&place, heap->length_size), block = 0, start = 0;
  if (place.bad || !h5_find_block(h5, heap, offset, &block, &start)) {
    return s2_h5_fail(h5, DAMAGED);
  }
  *object = s2_h5_view(h5, block == S2_H5_NOWHERE ? block : block + (offset - start), length);
  return !object->bad || s2_h5_fail(h5, DAMAGED);
}

// ---- Trees of positions in heaps --------------------------------------------------------------

typedef struct Tree {
  S2H5 *h5;
  const Heap *heap;
  S2H5Kind kind;
  S2H5Object *object;
  unsigned record, before; // bytes of a record, and bytes before the offset in it
  unsigned count_size;     // size of the field that counts the records of a node in bytes
  unsigned total_size[8];  // size of the field that counts all records below a node, for each level
} Tree;

static bool take_records(const Tree *tree, S2H5View *view, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    S2H5View record = s2_h5_part(view, tree->record);
    s2_h5_part(&record, tree->before);
    S2H5Message message = {tree->kind, false, {0}};
    if (!find_object(tree->h5, tree->heap, record, &message.data)) {
      return false;
    }
    *s2_array_append(*tree->object) = message;
  }
  return true;
}

static bool h5_read_node(const Tree *tree, uint64_t address, uint64_t count, unsigned level) {
  enum { HEADER = 6 };
  S2H5 *h5 = tree->h5;
  unsigned child = h5->offsets + tree->count_size + (level > 0 ? tree->total_size[level - 1] : 0);
  uint64_t size = HEADER + count * tree->record + (level > 0 ? (count + 1) * child : 0);
  S2H5View view = s2_h5_view(h5, address, size);
  s2_h5_starts(&view, level > 0 ? "BTIN" : "BTLF");
  s2_h5_part(&view, 2);
  if (view.bad) {
    return s2_h5_fail(h5, DAMAGED);
  }
  bool good = take_records(tree, &view, count);
  for (uint64_t i = 0; i <= count && level > 0 && good; i++) {
    uint64_t below = s2_h5_address(h5, &view), records = s2_h5_number(&view, tree->count_size);
    s2_h5_part(&view, tree->total_size[level - 1]);
    good = h5_read_node(tree, below, records, level - 1);
  }
  return good;
}

// Compute the sizes of these fields from the number of records that fit into a node.
static bool find_sizes(Tree *tree, uint64_t node, unsigned depth) {
  enum { OVERHEAD = 10, MOST = sizeof tree->total_size / sizeof tree->total_size[0] };
  if (depth >= MOST || tree->record == 0 || node < OVERHEAD + tree->record) {
    return false;
  }
  uint64_t fit = (node - OVERHEAD) / tree->record, total = fit;
  tree->count_size = bytes_for(fit);
  tree->total_size[0] = 0;
  for (unsigned level = 1; level <= depth; level++) {
    unsigned child = tree->h5->offsets + tree->count_size + tree->total_size[level - 1];
    if (node < OVERHEAD + child + tree->record + child) {
      return false;
    }
    fit = (node - OVERHEAD - child) / (tree->record + child);
    total = (fit + 1) * total + fit;
    tree->total_size[level] = bytes_for(total);
  }
  return true;
}

bool s2_h5_dense(S2H5 *h5, uint64_t heap_address, uint64_t tree_address, S2H5Kind kind,
                 S2H5Object *object) {
  enum { BY_NAME = 5, OF_ATTRIBUTES = 8 };
  Heap heap = {0};
  if (!read_heap(h5, heap_address, &heap)) {
    return false;
  }
  // Read the header of the tree and check the type of its records.
  S2H5View view = s2_h5_view(h5, tree_address, 18 + h5->offsets);
  s2_h5_starts(&view, "BTHD");
  s2_h5_part(&view, 1);
  uint64_t type = s2_h5_number(&view, 1), node = s2_h5_number(&view, 4);
  Tree tree = {.h5 = h5, .heap = &heap, .kind = kind, .object = object};
  tree.record = (unsigned)s2_h5_number(&view, 2);
  tree.before = kind == S2_H5_LINK ? 4 : 0; // a hash of the name
  unsigned depth = (unsigned)s2_h5_number(&view, 2);
  s2_h5_part(&view, 2);
  uint64_t root = s2_h5_address(h5, &view), count = s2_h5_number(&view, 2);
  if (view.bad || type != (kind == S2_H5_LINK ? BY_NAME : OF_ATTRIBUTES) ||
      !find_sizes(&tree, node, depth)) {
    return s2_h5_fail(h5, DAMAGED);
  }
  return root == S2_H5_NOWHERE || count == 0 || h5_read_node(&tree, root, count, depth);
}

// ---- Links ------------------------------------------------------------------------------------

static bool read_link(S2H5 *h5, S2H5View view, S2H5Links *links, bool *ordered) {
  enum { ORDER = 4, TYPE = 8, CHARACTERS = 16 };
  uint64_t version = s2_h5_number(&view, 1), flags = s2_h5_number(&view, 1);
  uint64_t type = (flags & TYPE) != 0 ? s2_h5_number(&view, 1) : 0;
  uint64_t order = (flags & ORDER) != 0 ? s2_h5_number(&view, 8) : 0;
  s2_h5_part(&view, (flags & CHARACTERS) != 0 ? 1 : 0);
  uint64_t length = s2_h5_number(&view, 1u << (flags & 3));
  S2H5View name = s2_h5_part(&view, length);
  if (view.bad || version != 1) {
    return s2_h5_fail(h5, DAMAGED);
  }
  if (type != 0) {
    return true; // a soft link contains only the name of another object
  }
  *ordered = *ordered && (flags & ORDER) != 0;
  uint64_t address = s2_h5_address(h5, &view);
  name.bad = name.bad || view.bad;
  return add_link(h5, links, name, address, order);
}

static int by_order(const void *a, const void *b) {
  uint64_t x = ((const S2H5Link *)a)->order, y = ((const S2H5Link *)b)->order;
  return (x > y) - (x < y);
}

static int h5_by_name(const void *a, const void *b) {
  return strcmp(((const S2H5Link *)a)->name, ((const S2H5Link *)b)->name);
}

bool s2_h5_links(S2H5 *h5, const S2H5Object *object, S2H5Links *links) {
  bool good = true, ordered = true;
  // The group has either an old symbol table or one message per link.
  for (int i = 0; i < object->count && good; i++) {
    const S2H5Message *message = &object->at[i];
    if (message->kind == S2_H5_TABLE) {
      ordered = false;
      good = read_old(h5, message->data, links);
    } else if (message->kind == S2_H5_LINK) {
      good = read_link(h5, message->data, links, &ordered);
    }
  }
  // A name may occur only once.
  if (good && links->count > 1) {
    qsort(links->at, (size_t)links->count, sizeof *links->at, h5_by_name);
    for (int i = 1; i < links->count && good; i++) {
      good = strcmp(links->at[i - 1].name, links->at[i].name) != 0 || s2_h5_fail(h5, DAMAGED);
    }
    if (ordered) {
      qsort(links->at, (size_t)links->count, sizeof *links->at, by_order);
    }
  }
  return good;
}

void s2_h5_free_links(S2H5Links *links) {
  for (int i = 0; i < links->count; i++) {
    s2_memory_free(links->at[i].name);
  }
  s2_array_free(*links);
}
