// Reverse-mode differentiation: a tape of computations that is read backwards.
//
// A node is a block of doubles (a scalar is a block of one double) computed from earlier nodes.
// Scalar operations store their partial derivatives. Every other operation (arrays, solvers, the
// steps of a world) has a function that passes the adjoint of its node on to the nodes and worlds
// from which the node was computed. A sweep goes once from the last node to the first, so its cost
// is proportional to the cost of the operations. Only one thread may use a tape at a time. Memory
// only grows until the tape is cleared.
#ifndef S2_TAPE_H
#define S2_TAPE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct S2Tape S2Tape;

// The number of a node, counted from 1 in the order of creation. 0 is a constant, which gets no
// derivative. A tape with 2^32 - 1 numbers is full: further nodes are 0, and sweeps fail
// (S2_MEMORY).
typedef uint32_t S2Var;

S2Tape *s2_tape_new(void);
void s2_tape_free(S2Tape *tape);  // NULL: nothing
void s2_tape_clear(S2Tape *tape); // retains its memory for later nodes.
// Memory that the nodes of a tape need, including adjoints and counted bytes, without unused
// capacity.
size_t s2_tape_bytes(const S2Tape *tape);
size_t s2_tape_peak(const S2Tape *tape); // the maximum since the tape was cleared
int64_t s2_tape_nodes(const S2Tape *tape);

// An input. Derivatives are taken with respect to its `count` numbers, which are copied.
S2Var s2_tape_input(S2Tape *tape, const double *values, int count);

// A scalar and its partial derivatives with respect to scalar nodes. 0 is a constant, and a scalar
// computed only from constants is a constant. Adjoints of zero are not passed on, so an infinite
// derivative has no effect unless it is needed.
S2Var s2_tape_scalar1(S2Tape *tape, double value, S2Var a, double da);
S2Var s2_tape_scalar2(S2Tape *tape, double value, S2Var a, double da, S2Var b, double db);
// A scalar node that is one element of another node.
S2Var s2_tape_element(S2Tape *tape, S2Var of, int index);

// Memory that lives until the tape is cleared, 16-byte aligned.
void *s2_tape_take(S2Tape *tape, size_t bytes);

// A node of another kind. `backward` reads s2_tape_adjoint of `node` and adds to the adjoints of
// its sources, which it finds through `data`; a failure ends the sweep. `release` (may be NULL)
// runs when the tape is cleared or freed. If count = 0, the node has no numbers, but represents an
// act on a world that the sweep undoes in order. `values` are copied; NULL means zeros.
typedef S2Status S2TapeBackward(S2Tape *tape, S2Var node, void *data);
typedef void S2TapeRelease(void *data);
S2Var s2_tape_node(S2Tape *tape, int count, const double *values, S2TapeBackward *backward,
                   S2TapeRelease *release, void *data);
// Adds memory that a node holds outside the tape to s2_tape_bytes.
void s2_tape_count_bytes(S2Tape *tape, ptrdiff_t bytes);

int s2_tape_count(const S2Tape *tape, S2Var node);           // number of the node's numbers
const double *s2_tape_value(const S2Tape *tape, S2Var node); // valid until the next node is created
// For use during and after a sweep; valid until the next sweep or node. NULL for node 0.
double *s2_tape_adjoint(S2Tape *tape, S2Var node);

// Registers `start`, which is called at the start of every sweep (worlds clear their adjoints).
void s2_tape_at_start(S2Tape *tape, void (*start)(void *data), void *data);

// Computes the adjoints of all nodes with dl/d(output) = seed (one per number of `output`, NULL:
// ones). The call may be repeated with other seeds and outputs. A constant output gives no
// adjoints. Returns S2_INVALID if the output has no numbers, and S2_BUSY if the call comes from
// within a sweep. Nodes cannot be created within a sweep either.
S2Status s2_tape_sweep(S2Tape *tape, S2Var output, const double *seed);
bool s2_tape_sweeping(const S2Tape *tape);
// A sweep for an `output` of one number that visits only the nodes from `first` on. The adjoints of
// these nodes are then the derivatives with respect to them. Adjoints of other nodes are not valid.
S2Status s2_tape_sweep_since(S2Tape *tape, S2Var output, S2Var first);
S2Var s2_tape_next(const S2Tape *tape); // number of the next node to be created.

// ---- Jacobians --------------------------------------------------------------------------------

// One number of a node. If var is 0, it is a constant.
typedef struct S2TapeNumber {
  S2Var var;
  int index;
} S2TapeNumber;

// matrix[i * inputs + j] = d(output i)/d(input j). The function either makes one reverse sweep per
// output, or propagates the derivatives with respect to all inputs in one forward pass, whichever
// costs less. If outputs are recorded one after another (the rows of a log), the cost is
// proportional to the length of the tape.
S2Status s2_tape_jacobian(S2Tape *tape, int outputs, const S2TapeNumber *output, int inputs,
                          const S2TapeNumber *input, double *matrix);

// Forward derivatives of a node. From the tangents of the node's sources, `forward` sets its
// s2_tape_tangent and the tangents of the world on which it acts. `rows` returns how often
// `forward` calls the backward function (NULL: never). For a node with numbers but without
// `forward`, its backward function is called once for each of its numbers. A node without numbers
// and without `forward` can only be differentiated backwards.
typedef S2Status S2TapeForward(S2Tape *tape, S2Var node, void *data);
typedef int S2TapeRows(const void *data);
void s2_tape_set_forward(S2Tape *tape, S2Var node, S2TapeForward *forward, S2TapeRows *rows);

// Number of columns of tangents in the running forward pass, or 0 if none is running.
int s2_tape_columns(const S2Tape *tape);
// Whether a probe is running. A probe is a sweep before a forward pass; nodes with nonzero adjoints
// in it are the nodes on which the outputs depend.
bool s2_tape_probing(const S2Tape *tape);
// The tangents of a node in a forward pass: s2_tape_columns for each of its numbers. NULL for node
// 0.
double *s2_tape_tangent(S2Tape *tape, S2Var node);
// Calls `backward` with the present adjoints. Sets row[s2_tape_columns] to the sum of the adjoints
// that `backward` adds to nodes, times the tangents of these nodes. Clears those adjoints.
S2Status s2_tape_row(S2Tape *tape, S2Var node, S2TapeBackward *backward, void *data, double *row);

#endif
