// A balanced binary tree of boxes, stored like a heap. The children of node k are 2k+1 and 2k+2.
// The tree is built by halving the proxies along the longer side again and again. If a box moves,
// the boxes above it are updated at once. So the tree is always correct, but searches become slower
// when proxies mingle. The tree is rebuilt when a search visits many more nodes than the first
// search after the last rebuild. Proxies that were added since then are loose: they have no leaf
// and are tested one by one.

#include "collide/collide.h"

#include "base/memory.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
  LOOSE_MIN = 32,   // number of loose proxies that cost less than a rebuild
  LOOSE_SHARE = 16, // one more proxy may be loose for every LOOSE_SHARE proxies in the tree
};

// The tree is rebuilt when a search visits this many times as many nodes as in a fresh tree.
static const double WORN = 1.5;

enum { ABSENT, INACTIVE, ACTIVE };

// Values of `leaves` for a proxy without a leaf: NO_LEAF or loose_at(position in `loose`).
enum { NO_LEAF = -1 };

static int32_t loose_at(int32_t place) { // also converts back: loose_at(loose_at(place)) is place
  return NO_LEAF - 1 - place;
}

typedef struct Node {
  S2Box box;
  int32_t proxy; // proxy of a leaf; -1 for an inner node
  bool active;   // true if any proxy below the node searches
} Node;

struct S2Broadphase {
  int32_t capacity; // proxies are 0 .. capacity - 1
  S2Box *boxes;     // boxes as given by the caller; empty for absent proxies
  uint8_t *states;
  uint8_t *searches; // S2ProxySearch of each proxy
  int32_t *leaves;   // node of the proxy, or loose_at(place in `loose`), or NO_LEAF
  int32_t *loose;    // proxies without a leaf, in any order (the pairs are sorted later)
  int32_t loose_count;
  Node *nodes;
  int32_t node_count, node_room;
  int32_t leaf_count;
  int32_t *order; // scratch memory for building the tree
  S2Pair *found;  // scratch memory of the search
  int64_t found_count, found_room;
  int64_t visits, visits_fresh; // nodes visited by the last search and by the first search after a
                                // rebuild; 0: none
};

// The empty box overlaps nothing. A union with it does not change a box.
static const S2Box EMPTY = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};

// Makes infinite sides finite, so that nothing overlaps EMPTY. Returns EMPTY if a side is NaN.
static S2Box broadphase_bounded(S2Box box) {
  if (!(box.lo.x <= box.hi.x && box.lo.y <= box.hi.y)) {
    return EMPTY;
  }
  return (S2Box){
      {box.lo.x > -DBL_MAX ? box.lo.x : -DBL_MAX, box.lo.y > -DBL_MAX ? box.lo.y : -DBL_MAX},
      {box.hi.x < DBL_MAX ? box.hi.x : DBL_MAX, box.hi.y < DBL_MAX ? box.hi.y : DBL_MAX},
  };
}

static bool broadphase_less(double a, double b, int32_t index_a, int32_t index_b) {
  return a < b || (a == b && index_a < index_b);
}

static S2Box broadphase_join(S2Box p, S2Box q) {
  return (S2Box){
      {p.lo.x < q.lo.x ? p.lo.x : q.lo.x, p.lo.y < q.lo.y ? p.lo.y : q.lo.y},
      {p.hi.x > q.hi.x ? p.hi.x : q.hi.x, p.hi.y > q.hi.y ? p.hi.y : q.hi.y},
  };
}

static bool broadphase_same(S2Box p, S2Box q) {
  return p.lo.x == q.lo.x && p.lo.y == q.lo.y && p.hi.x == q.hi.x && p.hi.y == q.hi.y;
}

S2Broadphase *s2_broadphase_new(void) {
  return s2_memory_take_zeroed(sizeof(S2Broadphase));
}

void s2_broadphase_free(S2Broadphase *broadphase) {
  if (broadphase == NULL) {
    return;
  }
  s2_memory_free(broadphase->boxes);
  s2_memory_free(broadphase->states);
  s2_memory_free(broadphase->searches);
  s2_memory_free(broadphase->leaves);
  s2_memory_free(broadphase->loose);
  s2_memory_free(broadphase->nodes);
  s2_memory_free(broadphase->order);
  s2_memory_free(broadphase->found);
  s2_memory_free(broadphase);
}

static void broadphase_grow(S2Broadphase *b, int32_t least) {
  if (least <= b->capacity) {
    return;
  }
  int32_t capacity = b->capacity < 16 ? 16 : b->capacity;
  while (capacity < least) {
    capacity *= 2;
  }
  size_t count = (size_t)capacity;
  b->boxes = s2_memory_grow(b->boxes, count * sizeof *b->boxes);
  b->states = s2_memory_grow(b->states, count * sizeof *b->states);
  b->searches = s2_memory_grow(b->searches, count * sizeof *b->searches);
  b->leaves = s2_memory_grow(b->leaves, count * sizeof *b->leaves);
  b->loose = s2_memory_grow(b->loose, count * sizeof *b->loose);
  b->order = s2_memory_grow(b->order, count * sizeof *b->order);
  // Reserve memory for a rebuild here, because undoing a failed step must not allocate.
  b->nodes = s2_memory_grow(b->nodes, 2 * count * sizeof *b->nodes);
  b->node_room = 2 * capacity;
  for (int32_t i = b->capacity; i < capacity; i++) {
    b->boxes[i] = EMPTY;
    b->states[i] = ABSENT;
    b->searches[i] = S2_SEARCH_IF_ACTIVE;
    b->leaves[i] = NO_LEAF;
  }
  b->capacity = capacity;
}

static bool proxy_searches(const S2Broadphase *b, int32_t proxy) {
  return b->searches[proxy] == S2_SEARCH_IF_ACTIVE ? b->states[proxy] == ACTIVE
                                                   : b->searches[proxy] == S2_SEARCH_ALWAYS;
}

// Returns true if two proxies that overlap are a pair, unless neither of them searches.
static bool may_pair(const S2Broadphase *b, int32_t p, int32_t q) {
  return b->states[p] == ACTIVE || b->states[q] == ACTIVE;
}

// ---- Tree -------------------------------------------------------------------------------------

static void refit_node(Node *nodes, int32_t node) {
  const Node *left = &nodes[2 * node + 1];
  const Node *right = &nodes[2 * node + 2];
  nodes[node].box = broadphase_join(left->box, right->box);
  nodes[node].active = left->active || right->active;
}

static void set_leaf(S2Broadphase *b, int32_t node, S2Box box, bool active) {
  Node *nodes = b->nodes;
  nodes[node].box = box;
  nodes[node].active = active;
  while (node > 0) {
    node = (node - 1) / 2;
    Node before = nodes[node];
    refit_node(nodes, node);
    if (broadphase_same(before.box, nodes[node].box) && before.active == nodes[node].active) {
      return;
    }
  }
}

static double broadphase_middle(S2Box box, bool along_y) {
  double at = along_y ? box.lo.y / 2 + box.hi.y / 2 : box.lo.x / 2 + box.hi.x / 2;
  return isnan(at) ? 0 : at; // a box from -infinity to infinity has its middle at 0
}

// Moves the `first` proxies with the smallest centres along the axis to the front (Hoare's
// selection). The order affects only speed, not results.
static void select_smallest(const S2Box *boxes, int32_t *order, int32_t count, int32_t first,
                            bool along_y) {
  int32_t lo = 0;
  int32_t hi = count - 1;
  while (lo < hi) {
    int32_t pivot_index = order[lo + (hi - lo) / 2];
    // The pivot is the middle element.
    double pivot = broadphase_middle(boxes[pivot_index], along_y);
    int32_t i = lo;
    int32_t j = hi;
    while (i <= j) {
      while (broadphase_less(broadphase_middle(boxes[order[i]], along_y), pivot, order[i],
                             pivot_index)) {
        i += 1;
      }
      while (broadphase_less(pivot, broadphase_middle(boxes[order[j]], along_y), pivot_index,
                             order[j])) {
        j -= 1;
      }
      if (i <= j) {
        int32_t kept = order[i];
        order[i++] = order[j];
        order[j--] = kept;
      }
    }
    // Continue in the part that contains the position `first`.
    if (first <= j) {
      hi = j;
    } else if (first >= i) {
      lo = i;
    } else {
      return;
    }
  }
}

// Returns the number of leaves below the left child of the root. The tree has `count` leaves and is
// shaped like a heap: its deepest level is filled from the left.
static int32_t left_leaves(int32_t count) {
  int32_t full = 1; // leaves of the largest full tree that fits
  while (2 * full <= count) {
    full *= 2;
  }
  int32_t rest = count - full;
  return full / 2 + (rest < full / 2 ? rest : full / 2);
}

static void build_node(S2Broadphase *b, int32_t node, int32_t *order, int32_t count) {
  if (count == 1) {
    int32_t proxy = order[0];
    b->nodes[node] = (Node){b->boxes[proxy], proxy, proxy_searches(b, proxy)};
    b->leaves[proxy] = node;
    return;
  }
  // Split along the longer side of the bounding box of all centres.
  double lo_x = INFINITY, hi_x = -INFINITY, lo_y = INFINITY, hi_y = -INFINITY;
  for (int32_t i = 0; i < count; i++) {
    double x = broadphase_middle(b->boxes[order[i]], false);
    double y = broadphase_middle(b->boxes[order[i]], true);
    lo_x = fmin(lo_x, x);
    hi_x = fmax(hi_x, x);
    lo_y = fmin(lo_y, y);
    hi_y = fmax(hi_y, y);
  }
  int32_t left = left_leaves(count);
  select_smallest(b->boxes, order, count, left, hi_y - lo_y > hi_x - lo_x);
  build_node(b, 2 * node + 1, order, left);
  build_node(b, 2 * node + 2, order + left, count - left);
  b->nodes[node].proxy = -1;
  refit_node(b->nodes, node);
}

static void broadphase_build(S2Broadphase *b) {
  int32_t count = 0;
  for (int32_t i = 0; i < b->capacity; i++) {
    b->leaves[i] = NO_LEAF;
    if (b->states[i] != ABSENT) {
      b->order[count++] = i;
    }
  }
  b->loose_count = 0;
  b->leaf_count = count;
  b->node_count = count > 0 ? 2 * count - 1 : 0;
  b->visits_fresh = 0;
  if (count > 0) {
    build_node(b, 0, b->order, count);
  }
}

// ---- Proxies ----------------------------------------------------------------------------------

void s2_broadphase_set(S2Broadphase *b, int32_t proxy, S2Box box, bool active) {
  assert(proxy >= 0);
  broadphase_grow(b, proxy + 1);
  box = broadphase_bounded(box);
  bool fresh = b->states[proxy] == ABSENT;
  b->boxes[proxy] = box;
  b->states[proxy] = active ? ACTIVE : INACTIVE;
  if (b->leaves[proxy] >= 0) {
    set_leaf(b, b->leaves[proxy], box, proxy_searches(b, proxy));
  } else if (fresh) {
    b->leaves[proxy] = loose_at(b->loose_count);
    b->loose[b->loose_count++] = proxy;
  }
}

void s2_broadphase_remove(S2Broadphase *b, int32_t proxy) {
  if (proxy < 0 || proxy >= b->capacity || b->states[proxy] == ABSENT) {
    return;
  }
  b->boxes[proxy] = EMPTY;
  b->states[proxy] = ABSENT;
  if (b->leaves[proxy] >= 0) {
    // The proxy keeps its leaf, because it may be inserted again.
    set_leaf(b, b->leaves[proxy], EMPTY, false);
    return;
  }
  int32_t place = loose_at(b->leaves[proxy]), last = b->loose[--b->loose_count];
  b->loose[place] = last;
  b->leaves[last] = loose_at(place);
  b->leaves[proxy] = NO_LEAF;
}

void s2_broadphase_restrict(S2Broadphase *b, int32_t proxy, S2ProxySearch search) {
  if (proxy < 0 || proxy >= b->capacity || b->searches[proxy] == search) {
    return;
  }
  b->searches[proxy] = (uint8_t)search;
  if (b->leaves[proxy] >= 0) {
    set_leaf(b, b->leaves[proxy], b->boxes[proxy], proxy_searches(b, proxy));
  }
}

// ---- Pairs ------------------------------------------------------------------------------------

static void broadphase_add_pair(S2Broadphase *b, int32_t p, int32_t q) {
  if (!may_pair(b, p, q)) {
    return;
  }
  if (b->found_count == b->found_room) {
    int64_t room = b->found_room < 64 ? 64 : 2 * b->found_room;
    b->found = s2_memory_grow(b->found, (size_t)room * sizeof *b->found);
    b->found_room = room;
  }
  b->found[b->found_count++] = p < q ? (S2Pair){p, q} : (S2Pair){q, p};
}

static bool is_leaf(const S2Broadphase *b, int32_t node) {
  return 2 * node + 1 >= b->node_count;
}

// Finds pairs with one proxy below p and one below q. The recursion is at most twice as deep as the
// tree.
static void pairs_across(S2Broadphase *b, int32_t p, int32_t q) {
  const Node *np = &b->nodes[p];
  const Node *nq = &b->nodes[q];
  b->visits += 1;
  if (!(np->active || nq->active) || !s2_box_overlap(np->box, nq->box)) {
    return;
  }
  bool leaf_p = is_leaf(b, p);
  bool leaf_q = is_leaf(b, q);
  if (leaf_p && leaf_q) {
    broadphase_add_pair(b, np->proxy, nq->proxy);
  } else if (leaf_q || (!leaf_p && p < q)) { // split the node that is higher in the tree
    pairs_across(b, 2 * p + 1, q);
    pairs_across(b, 2 * p + 2, q);
  } else {
    pairs_across(b, p, 2 * q + 1);
    pairs_across(b, p, 2 * q + 2);
  }
}

static void pairs_within(S2Broadphase *b, int32_t node) {
  if (is_leaf(b, node) || !b->nodes[node].active) {
    return;
  }
  pairs_within(b, 2 * node + 1);
  pairs_within(b, 2 * node + 2);
  pairs_across(b, 2 * node + 1, 2 * node + 2);
}

static void pairs_of_loose(S2Broadphase *b, int32_t node, int32_t proxy) {
  const Node *n = &b->nodes[node];
  if (!(n->active || proxy_searches(b, proxy)) || !s2_box_overlap(n->box, b->boxes[proxy])) {
    return;
  }
  if (is_leaf(b, node)) {
    broadphase_add_pair(b, n->proxy, proxy);
  } else {
    pairs_of_loose(b, 2 * node + 1, proxy);
    pairs_of_loose(b, 2 * node + 2, proxy);
  }
}

static bool makes_pair(const S2Broadphase *b, int32_t p, int32_t q) {
  return may_pair(b, p, q) && (proxy_searches(b, p) || proxy_searches(b, q)) &&
         s2_box_overlap(b->boxes[p], b->boxes[q]);
}

// Stable counting sort of the pairs by the number of one of their proxies. `starts` holds capacity
// + 1 numbers.
static void sort_pairs(S2Pair *sorted, const S2Pair *pairs, int64_t count, bool by_a,
                       int64_t *starts, int32_t capacity) {
  memset(starts, 0, ((size_t)capacity + 1) * sizeof *starts);
  // Count, accumulate the counts, then fill.
  for (int64_t i = 0; i < count; i++) {
    starts[(by_a ? pairs[i].a : pairs[i].b) + 1] += 1;
  }
  for (int32_t k = 0; k < capacity; k++) {
    starts[k + 1] += starts[k];
  }
  for (int64_t i = 0; i < count; i++) {
    sorted[starts[by_a ? pairs[i].a : pairs[i].b]++] = pairs[i];
  }
}

int s2_broadphase_pairs(S2Broadphase *b, S2Arena *arena, S2Pair **pairs) {
  // Rebuild the tree if it has become slow or has many loose proxies.
  bool worn = b->visits_fresh > 0 && (double)b->visits > WORN * (double)b->visits_fresh;
  if (worn || b->loose_count > LOOSE_MIN + b->leaf_count / LOOSE_SHARE) {
    broadphase_build(b);
  }
  b->found_count = 0;
  b->visits = 1;
  if (b->node_count > 0) {
    pairs_within(b, 0);
  }
  if (b->visits_fresh == 0) {
    b->visits_fresh = b->visits;
  }
  // Test loose proxies against the tree, and against each other.
  for (int32_t i = 0; i < b->loose_count; i++) {
    if (b->node_count > 0) {
      pairs_of_loose(b, 0, b->loose[i]);
    }
    for (int32_t k = 0; k < i; k++) {
      if (makes_pair(b, b->loose[i], b->loose[k])) {
        broadphase_add_pair(b, b->loose[i], b->loose[k]);
      }
    }
  }
  // Sorts by (a, b): by b first, then by a. The second sort preserves the order of b.
  *pairs = S2_TAKE(arena, S2Pair, b->found_count);
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Pair *half = S2_TAKE(arena, S2Pair, b->found_count);
  int64_t *starts = S2_TAKE(arena, int64_t, (size_t)b->capacity + 1);
  sort_pairs(half, b->found, b->found_count, false, starts, b->capacity);
  sort_pairs(*pairs, half, b->found_count, true, starts, b->capacity);
  s2_arena_rewind(arena, mark);
  return (int)b->found_count;
}

int s2_broadphase_pairs_brute(const S2Broadphase *b, S2Arena *arena, S2Pair **pairs) {
  int count = 0;
  *pairs = NULL;
  for (int pass = 0; pass < 2; pass++) { // count, then fill
    if (pass == 1) {
      *pairs = S2_TAKE(arena, S2Pair, count);
    }
    count = 0;
    for (int32_t p = 0; p < b->capacity; p++) {
      for (int32_t q = p + 1; q < b->capacity; q++) {
        if (b->states[p] != ABSENT && b->states[q] != ABSENT && makes_pair(b, p, q)) {
          if (pass == 1) {
            (*pairs)[count] = (S2Pair){p, q};
          }
          count += 1;
        }
      }
    }
  }
  return count;
}

// ---- Query ------------------------------------------------------------------------------------

static int32_t broadphase_collect(const S2Broadphase *b, int32_t node, S2Box box, int32_t *found,
                                  int32_t count) {
  const Node *n = &b->nodes[node];
  if (!s2_box_overlap(n->box, box)) {
    return count;
  }
  if (is_leaf(b, node)) {
    found[count] = n->proxy;
    return count + 1;
  }
  count = broadphase_collect(b, 2 * node + 1, box, found, count);
  return broadphase_collect(b, 2 * node + 2, box, found, count);
}

static void broadphase_sift(int32_t *heap, int32_t root, int32_t count) {
  while (2 * root + 1 < count) {
    int32_t child = 2 * root + 1;
    child += child + 1 < count && heap[child + 1] > heap[child];
    if (heap[root] >= heap[child]) {
      return;
    }
    int32_t kept = heap[root];
    heap[root] = heap[child];
    heap[child] = kept;
    root = child;
  }
}

static void sort_ascending(int32_t *list, int32_t count) {
  for (int32_t root = count / 2 - 1; root >= 0; root--) {
    broadphase_sift(list, root, count);
  }
  for (int32_t end = count - 1; end > 0; end--) {
    int32_t largest = list[0];
    list[0] = list[end];
    list[end] = largest;
    broadphase_sift(list, 0, end);
  }
}

S2Box s2_broadphase_bounds(const S2Broadphase *b) {
  S2Box bounds = b->node_count > 0 ? b->nodes[0].box : EMPTY;
  for (int32_t i = 0; i < b->loose_count; i++) {
    bounds = broadphase_join(bounds, b->boxes[b->loose[i]]);
  }
  return bounds;
}

void s2_broadphase_query(const S2Broadphase *b, S2Box box, S2Arena *arena, S2ProxyVisit *visit,
                         void *user) {
  box = broadphase_bounded(box);
  int32_t *found = S2_TAKE(arena, int32_t, b->leaf_count + b->loose_count);
  int32_t count = b->node_count > 0 ? broadphase_collect(b, 0, box, found, 0) : 0;
  for (int32_t i = 0; i < b->loose_count; i++) {
    if (s2_box_overlap(b->boxes[b->loose[i]], box)) {
      found[count++] = b->loose[i];
    }
  }
  // The order of visits must not depend on the tree.
  sort_ascending(found, count);
  for (int32_t i = 0; i < count && visit(user, found[i]); i++) {
  }
}

// ---- Image ------------------------------------------------------------------------------------

// The image contains the count (as int64), then the box and the state of each proxy up to the last
// one that exists. Reading rebuilds the tree from them.

static int64_t present_count(const S2Broadphase *b) {
  int64_t count = b->capacity;
  while (count > 0 && b->states[count - 1] == ABSENT) {
    count -= 1;
  }
  return count;
}

static size_t image_bytes(int64_t count) {
  return sizeof count + (size_t)count * (sizeof(S2Box) + sizeof(uint8_t));
}

size_t s2_broadphase_image_size(const S2Broadphase *b) {
  return image_bytes(present_count(b));
}

void s2_broadphase_image_write(const S2Broadphase *b, void *image) {
  int64_t count = present_count(b);
  size_t boxes = (size_t)count * sizeof *b->boxes;
  unsigned char *at = image;
  memcpy(at, &count, sizeof count);
  if (count > 0) {
    memcpy(at + sizeof count, b->boxes, boxes);
    memcpy(at + sizeof count + boxes, b->states, (size_t)count * sizeof *b->states);
  }
}

void s2_broadphase_image_read(S2Broadphase *b, const void *image, size_t size) {
  int64_t count = 0;
  const unsigned char *at = image;
  assert(size >= sizeof count);
  memcpy(&count, at, sizeof count);
  assert(size == image_bytes(count));
  broadphase_grow(b, (int32_t)count);
  size_t boxes = (size_t)count * sizeof *b->boxes;
  if (count > 0) {
    memcpy(b->boxes, at + sizeof count, boxes);
    memcpy(b->states, at + sizeof count + boxes, (size_t)count * sizeof *b->states);
  }
  for (int32_t i = (int32_t)count; i < b->capacity; i++) {
    b->boxes[i] = EMPTY;
    b->states[i] = ABSENT;
  }
  broadphase_build(b);
}
