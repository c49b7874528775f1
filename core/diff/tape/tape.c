#include "diff/tape/tape.h"

#include "base/arena.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

// Scalars name the places (indices into `value` and `adjoint`) of what they were computed from
// rather than its node. Place 0 belongs to no node: whatever is handed to constants goes there.
typedef struct Node {
  uint32_t at;    // place of its first number
  uint32_t other; // 0: a scalar; else what it is, in `other`, plus 1
  uint32_t a, b;
  double da, db;
} Node;

typedef struct Other {
  int count;
  S2TapeBackward *backward; // NULL: an input
  S2TapeRelease *release;
  void *data;
} Other;

typedef struct Start {
  void (*run)(void *data);
  void *data;
} Start;

struct S2Tape {
  Node *node; // [0] is the constant
  size_t nodes, node_capacity;
  double *value;
  size_t numbers, value_capacity;
  double *adjoint;
  size_t adjoint_capacity;
  Other *other;
  size_t others, other_capacity;
  Start *start;
  size_t starts, start_capacity;
  S2Arena arena;
  ptrdiff_t outside, most_outside; // bytes
  size_t one_way;                  // nodes with a backward function
  bool full, sweeping;
};

static void *tape_grown(void *at, size_t *capacity, size_t wanted, size_t item) {
  if (wanted <= *capacity) {
    return at;
  }
  size_t size = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : *capacity;
  while (size < wanted) {
    size *= 2;
  }
  *capacity = size;
  return s2_memory_grow(at, size * item);
}

static void tape_start_over(S2Tape *tape) {
  tape->node = tape_grown(tape->node, &tape->node_capacity, 1, sizeof *tape->node);
  tape->value = tape_grown(tape->value, &tape->value_capacity, 1, sizeof *tape->value);
  tape->node[0] = (Node){0};
  tape->value[0] = 0;
  tape->nodes = tape->numbers = 1;
  tape->others = tape->starts = tape->one_way = 0;
  tape->outside = tape->most_outside = 0;
  tape->full = false;
}

static void tape_release_others(S2Tape *tape) {
  for (size_t i = tape->others; i-- > 0;) {
    if (tape->other[i].release != NULL) {
      tape->other[i].release(tape->other[i].data);
    }
  }
}

S2Tape *s2_tape_new(void) {
  S2Tape *tape = s2_memory_take_zeroed(sizeof *tape);
  s2_arena_init(&tape->arena);
  tape_start_over(tape);
  return tape;
}

void s2_tape_free(S2Tape *tape) {
  if (tape == NULL) {
    return;
  }
  tape_release_others(tape);
  s2_arena_free(&tape->arena);
  s2_memory_free(tape->node);
  s2_memory_free(tape->value);
  s2_memory_free(tape->adjoint);
  s2_memory_free(tape->other);
  s2_memory_free(tape->start);
  s2_memory_free(tape);
}

void s2_tape_clear(S2Tape *tape) {
  assert(!tape->sweeping);
  tape_release_others(tape);
  s2_arena_reset(&tape->arena);
  tape_start_over(tape);
}

size_t s2_tape_bytes(const S2Tape *tape) {
  return sizeof *tape + tape->nodes * sizeof *tape->node +
         tape->numbers * (sizeof *tape->value + sizeof *tape->adjoint) +
         tape->others * sizeof *tape->other + tape->starts * sizeof *tape->start +
         tape->arena.used + (size_t)tape->outside;
}

// What it holds itself only grows.
size_t s2_tape_peak(const S2Tape *tape) {
  return s2_tape_bytes(tape) + (size_t)(tape->most_outside - tape->outside);
}

int64_t s2_tape_nodes(const S2Tape *tape) {
  return (int64_t)tape->nodes - 1;
}

// Room for a node of `count` numbers: its number, or 0 when the tape is full.
static S2Var tape_append(S2Tape *tape, size_t count) {
  assert(!tape->sweeping);
  if (tape->nodes >= UINT32_MAX || count > UINT32_MAX - tape->numbers) {
    tape->full = true;
  }
  if (tape->full) {
    return 0;
  }
  tape->node = tape_grown(tape->node, &tape->node_capacity, tape->nodes + 1, sizeof *tape->node);
  tape->value =
      tape_grown(tape->value, &tape->value_capacity, tape->numbers + count, sizeof *tape->value);
  S2Var var = (S2Var)tape->nodes;
  tape->node[var].at = (uint32_t)tape->numbers;
  tape->nodes += 1;
  tape->numbers += count;
  return var;
}

static S2Var tape_append_scalar(S2Tape *tape, double value, Node node) {
  S2Var var = tape_append(tape, 1);
  if (var != 0) {
    node.at = tape->node[var].at;
    tape->node[var] = node;
    tape->value[node.at] = value;
  }
  return var;
}

static uint32_t tape_scalar_place(const S2Tape *tape, S2Var var) {
  assert(var < tape->nodes && s2_tape_count(tape, var) <= 1);
  return tape->node[var].at;
}

S2Var s2_tape_input(S2Tape *tape, const double *values, int count) {
  return s2_tape_node(tape, count, values, NULL, NULL, NULL);
}

S2Var s2_tape_scalar1(S2Tape *tape, double value, S2Var a, double da) {
  if (a == 0) {
    return 0;
  }
  return tape_append_scalar(tape, value, (Node){.a = tape_scalar_place(tape, a), .da = da});
}

S2Var s2_tape_scalar2(S2Tape *tape, double value, S2Var a, double da, S2Var b, double db) {
  if (a == 0 && b == 0) {
    return 0;
  }
  return tape_append_scalar(
      tape, value,
      (Node){.a = tape_scalar_place(tape, a), .b = tape_scalar_place(tape, b), .da = da, .db = db});
}

S2Var s2_tape_element(S2Tape *tape, S2Var of, int index) {
  if (of == 0) {
    return 0;
  }
  assert(of < tape->nodes && index >= 0 && index < s2_tape_count(tape, of));
  uint32_t place = tape->node[of].at + (uint32_t)index;
  return tape_append_scalar(tape, tape->value[place], (Node){.a = place, .da = 1});
}

void *s2_tape_take(S2Tape *tape, size_t bytes) {
  return s2_arena_take(&tape->arena, bytes);
}

S2Var s2_tape_node(S2Tape *tape, int count, const double *values, S2TapeBackward *backward,
                   S2TapeRelease *release, void *data) {
  assert(count >= 0);
  S2Var var = tape_append(tape, (size_t)count);
  // A tape that is full has no use for the data.
  if (var == 0) {
    if (release != NULL) {
      release(data);
    }
    return 0;
  }
  // What is no sum of products has its own way back, and values of its own.
  tape->other =
      tape_grown(tape->other, &tape->other_capacity, tape->others + 1, sizeof *tape->other);
  tape->other[tape->others] =
      (Other){.count = count, .backward = backward, .release = release, .data = data};
  tape->others += 1;
  tape->one_way += backward != NULL;
  tape->node[var].other = (uint32_t)tape->others;
  if (count > 0) {
    double *at = &tape->value[tape->node[var].at];
    if (values != NULL) {
      memcpy(at, values, (size_t)count * sizeof *at);
    } else {
      memset(at, 0, (size_t)count * sizeof *at);
    }
  }
  return var;
}

void s2_tape_count_bytes(S2Tape *tape, ptrdiff_t bytes) {
  tape->outside += bytes;
  tape->most_outside = tape->outside > tape->most_outside ? tape->outside : tape->most_outside;
}

int s2_tape_count(const S2Tape *tape, S2Var node) {
  assert(node < tape->nodes);
  uint32_t other = tape->node[node].other;
  return node == 0 ? 0 : other == 0 ? 1 : tape->other[other - 1].count;
}

const double *s2_tape_value(const S2Tape *tape, S2Var node) {
  assert(node < tape->nodes);
  return node == 0 ? NULL : &tape->value[tape->node[node].at];
}

double *s2_tape_adjoint(S2Tape *tape, S2Var node) {
  assert(node < tape->nodes && tape->numbers <= tape->adjoint_capacity);
  return node == 0 ? NULL : &tape->adjoint[tape->node[node].at];
}

void s2_tape_at_start(S2Tape *tape, void (*start)(void *data), void *data) {
  tape->start =
      tape_grown(tape->start, &tape->start_capacity, tape->starts + 1, sizeof *tape->start);
  tape->start[tape->starts] = (Start){start, data};
  tape->starts += 1;
}

// What both directions ask first; then no node has an adjoint.
static S2Status tape_begin(S2Tape *tape, S2Var node) {
  if (tape->sweeping) {
    return s2_error(S2_BUSY, "a tape cannot be swept from within its sweep");
  }
  if (tape->full) {
    return s2_error(S2_MEMORY,
                    "the tape is full: %lu numbers were tracked and there is no room "
                    "for more",
                    (unsigned long)(tape->numbers - 1));
  }
  if (node >= tape->nodes) {
    return s2_error(S2_INVALID, "node %lu of a tape of %lu", (unsigned long)node,
                    (unsigned long)(tape->nodes - 1));
  }
  if (node != 0 && s2_tape_count(tape, node) == 0) {
    return s2_error(S2_INVALID, "node %lu has no numbers to take derivatives of",
                    (unsigned long)node);
  }
  tape->adjoint = // (as many as there may be values before those grow, so that both grow together)
      tape_grown(tape->adjoint, &tape->adjoint_capacity, tape->value_capacity,
                 sizeof *tape->adjoint);
  memset(tape->adjoint, 0, tape->numbers * sizeof *tape->adjoint);
  return s2_ok();
}

static S2Status tape_sweep(S2Tape *tape, S2Var output, S2Var last) {
  double *adjoint = tape->adjoint;
  for (S2Var var = output; var >= last; var--) {
    const Node *node = &tape->node[var];
    if (node->other == 0) {
      double g = adjoint[node->at];
      if (g != 0) {
        adjoint[node->a] += g * node->da;
        adjoint[node->b] += g * node->db;
      }
    } else {
      const Other *other = &tape->other[node->other - 1];
      if (other->backward != NULL) {
        S2_TRY(other->backward(tape, var, other->data));
      }
    }
  }
  return s2_ok();
}

S2Status s2_tape_sweep(S2Tape *tape, S2Var output, const double *seed) {
  S2_TRY(tape_begin(tape, output));
  for (size_t i = 0; i < tape->starts; i++) {
    tape->start[i].run(tape->start[i].data);
  }
  if (output == 0) {
    return s2_ok();
  }
  int count = s2_tape_count(tape, output);
  double *adjoint = s2_tape_adjoint(tape, output);
  for (int i = 0; i < count; i++) {
    adjoint[i] = seed == NULL ? 1 : seed[i];
  }
  tape->sweeping = true;
  S2Status status = tape_sweep(tape, output, 1);
  tape->sweeping = false;
  return status;
}

S2Var s2_tape_next(const S2Tape *tape) {
  return tape->full ? 0 : (S2Var)tape->nodes;
}

S2Status s2_tape_sweep_since(S2Tape *tape, S2Var output, S2Var first) {
  assert(first > 0 && output >= first && output < tape->nodes);
  if (tape->sweeping) {
    return s2_error(S2_BUSY, "a tape cannot be swept from within its sweep");
  }
  size_t had = tape->adjoint_capacity;
  tape->adjoint = tape_grown(tape->adjoint, &tape->adjoint_capacity, tape->value_capacity,
                             sizeof *tape->adjoint);
  memset(tape->adjoint + had, 0, (tape->adjoint_capacity - had) * sizeof *tape->adjoint);
  size_t from = tape->node[first].at;
  memset(tape->adjoint + from, 0, (tape->numbers - from) * sizeof *tape->adjoint);
  *s2_tape_adjoint(tape, output) = 1;
  tape->sweeping = true;
  S2Status status = tape_sweep(tape, output, first);
  tape->sweeping = false;
  return status;
}

bool s2_tape_sweeping(const S2Tape *tape) {
  return tape->sweeping;
}

S2Status s2_tape_push(S2Tape *tape, S2Var input, int index) {
  S2_TRY(tape_begin(tape, input));
  if (tape->one_way > 0) {
    return s2_error(S2_UNAVAILABLE, "the tape holds %lu nodes that know no way forward",
                    (unsigned long)tape->one_way);
  }
  if (input == 0) {
    return s2_ok();
  }
  assert(index >= 0 && index < s2_tape_count(tape, input));
  double *tangent = tape->adjoint;
  tangent[tape->node[input].at + (uint32_t)index] = 1;
  for (size_t var = (size_t)input + 1; var < tape->nodes; var++) {
    const Node *node = &tape->node[var];
    if (node->other == 0) {
      double a = tangent[node->a], b = tangent[node->b];
      tangent[node->at] = (a == 0 ? 0 : a * node->da) + (b == 0 ? 0 : b * node->db);
    }
  }
  return s2_ok();
}
