#include "diff/tape/tape.h"

#include "base/memory.h"
#include "diff/tape/tape_nodes.h"

#include <assert.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

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
  tape->node[0] = (S2TapeNode){0};
  tape->value[0] = 0;
  tape->nodes = tape->numbers = 1;
  tape->others = tape->starts = 0;
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
  s2_array_free(tape->pass.touched);
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

// The memory of a tape only grows.
size_t s2_tape_peak(const S2Tape *tape) {
  return s2_tape_bytes(tape) + (size_t)(tape->most_outside - tape->outside);
}

int64_t s2_tape_nodes(const S2Tape *tape) {
  return (int64_t)tape->nodes - 1;
}

// ---- Origins ----------------------------------------------------------------------------------

void s2_tape_set_generation(S2Tape *tape, uint32_t generation) {
  tape->generation = generation;
}

uint64_t s2_tape_origin(const S2Tape *tape, S2Var var) {
  return var == 0 ? 0 : (uint64_t)tape->generation << 32 | var;
}

S2Var s2_tape_var(const S2Tape *tape, uint64_t origin) {
  return origin >> 32 == tape->generation ? (S2Var)origin : 0;
}

// ---- Nodes ------------------------------------------------------------------------------------

// Reserves a node of `count` numbers. Returns its number, or 0 if the tape is full.
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

static S2Var tape_append_scalar(S2Tape *tape, double value, S2TapeNode node) {
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
  return tape_append_scalar(tape, value, (S2TapeNode){.a = tape_scalar_place(tape, a), .da = da});
}

S2Var s2_tape_scalar2(S2Tape *tape, double value, S2Var a, double da, S2Var b, double db) {
  if (a == 0 && b == 0) {
    return 0;
  }
  return tape_append_scalar(
      tape, value,
      (S2TapeNode){
          .a = tape_scalar_place(tape, a), .b = tape_scalar_place(tape, b), .da = da, .db = db});
}

S2Var s2_tape_element(S2Tape *tape, S2Var of, int index) {
  if (of == 0) {
    return 0;
  }
  assert(of < tape->nodes && index >= 0 && index < s2_tape_count(tape, of));
  uint32_t place = tape->node[of].at + (uint32_t)index;
  return tape_append_scalar(tape, tape->value[place], (S2TapeNode){.a = place, .da = 1});
}

void *s2_tape_take(S2Tape *tape, size_t bytes) {
  return s2_arena_take(&tape->arena, bytes);
}

S2Var s2_tape_node(S2Tape *tape, int count, const double *values, S2TapeBackward *backward,
                   S2TapeRelease *release, void *data) {
  assert(count >= 0);
  S2Var var = tape_append(tape, (size_t)count);
  // If the tape is full, discard the data.
  if (var == 0) {
    if (release != NULL) {
      release(data);
    }
    return 0;
  }
  // A node that is not a sum of products has its own backward function and its own values.
  tape->other =
      tape_grown(tape->other, &tape->other_capacity, tape->others + 1, sizeof *tape->other);
  tape->other[tape->others] =
      (S2TapeOther){.count = count, .backward = backward, .release = release, .data = data};
  tape->others += 1;
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

void s2_tape_set_forward(S2Tape *tape, S2Var node, S2TapeForward *forward, S2TapeRows *rows) {
  assert(node == 0 || tape->node[node].other != 0);
  if (node != 0) { // otherwise the tape is full
    tape->other[tape->node[node].other - 1].forward = forward;
    tape->other[tape->node[node].other - 1].rows = rows;
  }
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
  if (tape->pass.gathers && node != 0) {
    *s2_array_append(tape->pass.touched) = node;
  }
  return node == 0 ? NULL : &tape->adjoint[tape->node[node].at];
}

void s2_tape_at_start(S2Tape *tape, void (*start)(void *data), void *data) {
  tape->start =
      tape_grown(tape->start, &tape->start_capacity, tape->starts + 1, sizeof *tape->start);
  tape->start[tape->starts] = (S2TapeStart){start, data};
  tape->starts += 1;
}

S2Status s2_tape_begin(S2Tape *tape, S2Var node) {
  if (tape->sweeping) {
    return s2_error(S2_BUSY, "a tape cannot be swept while a sweep of it is running");
  }
  if (tape->full) {
    return s2_error(S2_MEMORY,
                    "the tape is full: %lu numbers were tracked and there is no room "
                    "for more",
                    (unsigned long)(tape->numbers - 1));
  }
  if (node >= tape->nodes) {
    return s2_error(S2_INVALID, "node %lu does not exist; the tape has %lu", (unsigned long)node,
                    (unsigned long)(tape->nodes - 1));
  }
  if (node != 0 && s2_tape_count(tape, node) == 0) {
    return s2_error(S2_INVALID, "node %lu has no numbers, so it has no derivatives",
                    (unsigned long)node);
  }
  tape->adjoint = // has the capacity of the values, so that both grow together
      tape_grown(tape->adjoint, &tape->adjoint_capacity, tape->value_capacity,
                 sizeof *tape->adjoint);
  memset(tape->adjoint, 0, tape->numbers * sizeof *tape->adjoint);
  return s2_ok();
}

S2Status s2_tape_sweep_nodes(S2Tape *tape, S2Var from, S2Var to) {
  double *adjoint = tape->adjoint;
  for (S2Var var = from; var >= to; var--) {
    const S2TapeNode *node = &tape->node[var];
    if (node->other == 0) {
      double g = adjoint[node->at];
      if (g != 0) {
        adjoint[node->a] += g * node->da;
        adjoint[node->b] += g * node->db;
      }
    } else {
      const S2TapeOther *other = &tape->other[node->other - 1];
      if (other->backward != NULL) {
        S2_TRY(other->backward(tape, var, other->data));
      }
    }
  }
  return s2_ok();
}

void s2_tape_run_starts(S2Tape *tape) {
  for (size_t i = 0; i < tape->starts; i++) {
    tape->start[i].run(tape->start[i].data);
  }
}

S2Status s2_tape_sweep(S2Tape *tape, S2Var output, const double *seed) {
  S2_TRY(s2_tape_begin(tape, output));
  s2_tape_run_starts(tape);
  if (output == 0) {
    return s2_ok();
  }
  int count = s2_tape_count(tape, output);
  double *adjoint = s2_tape_adjoint(tape, output);
  for (int i = 0; i < count; i++) {
    adjoint[i] = seed == NULL ? 1 : seed[i];
  }
  tape->sweeping = true;
  S2Status status = s2_tape_sweep_nodes(tape, output, 1);
  tape->sweeping = false;
  return status;
}

S2Var s2_tape_next(const S2Tape *tape) {
  return tape->full ? 0 : (S2Var)tape->nodes;
}

S2Status s2_tape_sweep_since(S2Tape *tape, S2Var output, S2Var first) {
  assert(first > 0 && output >= first && output < tape->nodes);
  if (tape->sweeping) {
    return s2_error(S2_BUSY, "a tape cannot be swept while a sweep of it is running");
  }
  size_t had = tape->adjoint_capacity;
  tape->adjoint = tape_grown(tape->adjoint, &tape->adjoint_capacity, tape->value_capacity,
                             sizeof *tape->adjoint);
  memset(tape->adjoint + had, 0, (tape->adjoint_capacity - had) * sizeof *tape->adjoint);
  size_t from = tape->node[first].at;
  memset(tape->adjoint + from, 0, (tape->numbers - from) * sizeof *tape->adjoint);
  *s2_tape_adjoint(tape, output) = 1;
  tape->sweeping = true;
  S2Status status = s2_tape_sweep_nodes(tape, output, first);
  tape->sweeping = false;
  return status;
}

bool s2_tape_sweeping(const S2Tape *tape) {
  return tape->sweeping;
}
