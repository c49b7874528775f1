// Reverse-mode differentiation with a tape: computations are recorded, then read backwards.
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

// Identifies a node. Nodes are counted from 1 in the order of creation. 0 is a constant, which gets
// no derivative. A tape holds at most 2^32 - 1 numbers. When it is full, further nodes are 0, and
// sweeps fail with S2_MEMORY.
typedef uint32_t S2Var;

S2Tape *s2_tape_new(void);
void s2_tape_free(S2Tape *tape);  // NULL: nothing
void s2_tape_clear(S2Tape *tape); // retains its memory for later nodes.
// Memory that the nodes of a tape need, including adjoints and counted bytes, without unused
// capacity.
size_t s2_tape_bytes(const S2Tape *tape);
size_t s2_tape_peak(const S2Tape *tape); // the maximum since the tape was cleared
int64_t s2_tape_nodes(const S2Tape *tape);

// Origins identify nodes beyond the end of a recording, for numbers that are stored elsewhere. Each
// recording of a tape has a generation. It is 0 unless the caller sets it before the first node.
// s2_tape_var returns the node of an origin, or 0 if the origin belongs to another generation.
void s2_tape_set_generation(S2Tape *tape, uint32_t generation);
uint64_t s2_tape_origin(const S2Tape *tape, S2Var var); // 0 for a constant
S2Var s2_tape_var(const S2Tape *tape, uint64_t origin);

// An input. Derivatives are taken with respect to its `count` numbers, which are copied.
S2Var s2_tape_input(S2Tape *tape, const double *values, int count);

// A scalar and its partial derivatives with respect to scalar nodes. 0 is a constant, and a scalar
// computed only from constants is a constant. An adjoint of zero is not passed on, even if a
// derivative is infinite.
S2Var s2_tape_scalar1(S2Tape *tape, double value, S2Var a, double da);
S2Var s2_tape_scalar2(S2Tape *tape, double value, S2Var a, double da, S2Var b, double db);
// A scalar node that is one element of another node.
S2Var s2_tape_element(S2Tape *tape, S2Var of, int index);

// Memory that lives until the tape is cleared, 16-byte aligned.
void *s2_tape_take(S2Tape *tape, size_t bytes);

// A node of another kind. `backward` reads s2_tape_adjoint of `node`, and adds to the adjoints of
// its sources. It finds these through `data`. If it fails, the sweep ends. `release` (may be NULL)
// runs when the tape is cleared or freed. A node with count = 0 has no numbers. It represents an
// act on a world, which the sweep undoes in order. `values` are copied. NULL means zeros.
typedef S2Status S2TapeBackward(S2Tape *tape, S2Var node, void *data);
typedef void S2TapeRelease(void *data);
S2Var s2_tape_node(S2Tape *tape, int count, const double *values, S2TapeBackward *backward,
                   S2TapeRelease *release, void *data);
// Adds memory that a node holds outside the tape to s2_tape_bytes.
void s2_tape_count_bytes(S2Tape *tape, ptrdiff_t bytes);

int s2_tape_count(const S2Tape *tape, S2Var node);           // number of the node's numbers
const double *s2_tape_value(const S2Tape *tape, S2Var node); // valid until the next node is created
// Available during and after a sweep, until the next sweep or node. Returns NULL for node 0.
double *s2_tape_adjoint(S2Tape *tape, S2Var node);

// Registers `start`, which is called at the start of every sweep (worlds clear their adjoints).
void s2_tape_at_start(S2Tape *tape, void (*start)(void *data), void *data);

// Computes the adjoints of all nodes, starting with dl/d(output) = seed. There is one seed per
// number of `output`. NULL means ones. The call may be repeated with other seeds and outputs. A
// constant output gives no adjoints. Returns S2_INVALID if the output has no numbers, and S2_BUSY
// within a sweep. Sweeps cannot create nodes either.
S2Status s2_tape_sweep(S2Tape *tape, S2Var output, const double *seed);
bool s2_tape_sweeping(const S2Tape *tape);
// Sweeps only over the nodes from `first` on. `output` must have one number. Afterwards the
// adjoints of these nodes are valid, and those of other nodes are not.
S2Status s2_tape_sweep_since(S2Tape *tape, S2Var output, S2Var first);
S2Var s2_tape_next(const S2Tape *tape); // number of the next node to be created.

// ---- Jacobians --------------------------------------------------------------------------------

// One number of a node. If var is 0, it is a constant.
typedef struct S2TapeNumber {
  S2Var var;
  int index;
} S2TapeNumber;

// matrix[i * inputs + j] = d(output i)/d(input j). The function makes one reverse sweep per output,
// or one forward pass for all inputs, whichever costs less. If outputs are recorded one after
// another, like the rows of a log, the cost is proportional to the length of the tape.
S2Status s2_tape_jacobian(S2Tape *tape, int outputs, const S2TapeNumber *output, int inputs,
                          const S2TapeNumber *input, double *matrix);

// Adds forward derivatives to a node. `forward` reads the tangents of the node's sources. It sets
// the node's s2_tape_tangent, and the tangents of the world on which the node acts. `rows` returns
// how often `forward` calls the backward function (NULL: never). If a node has numbers but no
// `forward`, the backward function is called once for each number. A node with neither can only be
// differentiated backwards.
typedef S2Status S2TapeForward(S2Tape *tape, S2Var node, void *data);
typedef int S2TapeRows(const void *data);
void s2_tape_set_forward(S2Tape *tape, S2Var node, S2TapeForward *forward, S2TapeRows *rows);

// Number of columns of tangents in the running forward pass, or 0 if none is running.
int s2_tape_columns(const S2Tape *tape);
// Returns true during a probe. A probe is a sweep before a forward pass, which finds the nodes on
// which the outputs depend. These nodes have nonzero adjoints.
bool s2_tape_probing(const S2Tape *tape);
// The tangents of a node in a forward pass: s2_tape_columns for each of its numbers. NULL for node
// 0.
double *s2_tape_tangent(S2Tape *tape, S2Var node);
// Calls `backward` with the present adjoints. It multiplies the adjoints that `backward` adds to
// nodes by the tangents of these nodes. row[s2_tape_columns] receives the sum. The added adjoints
// are cleared.
S2Status s2_tape_row(S2Tape *tape, S2Var node, S2TapeBackward *backward, void *data, double *row);

#endif
