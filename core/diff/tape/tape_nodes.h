// The internal parts of a tape. Private to core/diff/tape.
#ifndef S2_TAPE_NODES_H
#define S2_TAPE_NODES_H

#include "base/arena.h"
#include "base/array.h"
#include "diff/tape/tape.h"

// A scalar stores the places of its arguments, not their nodes. A place is an index into `value`
// and `adjoint`. Place 0 belongs to no node. It receives the adjoints of constants.
typedef struct S2TapeNode {
  uint32_t at;    // place of the node's first number
  uint32_t other; // 0 for a scalar, otherwise its index in `other` plus 1
  uint32_t a, b;
  double da, db;
} S2TapeNode;

typedef struct S2TapeOther {
  int count;
  S2TapeBackward *backward; // NULL for inputs
  S2TapeForward *forward;   // NULL: `backward` computes the rows, one by one
  S2TapeRows *rows;         // NULL: `forward` calls no `backward`
  S2TapeRelease *release;
  void *data;
} S2TapeOther;

typedef struct S2TapeStart {
  void (*run)(void *data);
  void *data;
} S2TapeStart;

// Data that a forward pass needs in addition to the adjoints.
typedef struct S2TapePass {
  int columns;             // number of inputs in this pass, or 0 outside a forward pass
  double *tangent;         // `columns` numbers for each number
  S2_ARRAY(S2Var) touched; // nodes whose adjoints a backward function has used
  bool gathers;            // true if these nodes are recorded
} S2TapePass;

struct S2Tape {
  S2TapeNode *node; // entry 0 is the constant
  size_t nodes, node_capacity;
  double *value;
  size_t numbers, value_capacity;
  double *adjoint;
  size_t adjoint_capacity;
  S2TapeOther *other;
  size_t others, other_capacity;
  S2TapeStart *start;
  size_t starts, start_capacity;
  S2Arena arena;
  ptrdiff_t outside, most_outside; // bytes
  S2TapePass pass;
  uint32_t generation;
  bool full, sweeping, probing;
};

// Checks that a pass can start, and clears all adjoints.
S2Status s2_tape_begin(S2Tape *tape, S2Var node);
// Calls the functions that s2_tape_at_start registered.
void s2_tape_run_starts(S2Tape *tape);
// Sweeps backwards from node `from` to node `to`, starting with the present adjoints.
S2Status s2_tape_sweep_nodes(S2Tape *tape, S2Var from, S2Var to);

#endif
