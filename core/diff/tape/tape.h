// Reverse-mode differentiation: a tape of what was computed, read backwards.
//
// A node is a block of doubles (a scalar is a block of one) computed from nodes before it. Scalar
// operations keep their partial derivatives; everything else (arrays, solvers, the steps of a
// world) brings a function that adds what the adjoint of its node means for the nodes and worlds
// it was computed from. A sweep goes once from the last node to the first, so its cost is that of
// the operations. One thread uses a tape at a time. Memory only grows until the tape is cleared.
#ifndef S2_TAPE_H
#define S2_TAPE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct S2Tape S2Tape;

// A node by its number, from 1 in the order of making; 0: a constant, which no derivative reaches.
// A tape that holds 2^32 - 1 numbers is full: what is made then is 0, and sweeps fail (S2_MEMORY).
typedef uint32_t S2Var;

S2Tape *s2_tape_new(void);
void s2_tape_free(S2Tape *tape);  // NULL: nothing
void s2_tape_clear(S2Tape *tape); // keeps its memory for the next one
// What its nodes need, adjoints and what they count included; not what is kept for later ones.
size_t s2_tape_bytes(const S2Tape *tape);
size_t s2_tape_peak(const S2Tape *tape); // the most since it was cleared
int64_t s2_tape_nodes(const S2Tape *tape);

// What the derivative is taken with respect to: `count` numbers (copied).
S2Var s2_tape_input(S2Tape *tape, const double *values, int count);

// A scalar and its partial derivatives with respect to scalar nodes (0: a constant; one of
// constants alone is a constant). Adjoints of zero are not carried on, so that a derivative that is
// not finite matters only where it is asked for.
S2Var s2_tape_scalar1(S2Tape *tape, double value, S2Var a, double da);
S2Var s2_tape_scalar2(S2Tape *tape, double value, S2Var a, double da, S2Var b, double db);
// A scalar that is one element of a node.
S2Var s2_tape_element(S2Tape *tape, S2Var of, int index);

// Memory that lives until the tape is cleared, 16-byte aligned.
void *s2_tape_take(S2Tape *tape, size_t bytes);

// A node of another kind. `backward` reads s2_tape_adjoint of `node` and adds to the adjoints of
// what it came from (its own business, in `data`); a failure ends the sweep. `release` (may be
// NULL) runs when the tape is cleared or freed. count = 0: no numbers of its own, but an act upon a
// world that is to be undone in turn. Values: NULL for zeros, else copied.
typedef S2Status S2TapeBackward(S2Tape *tape, S2Var node, void *data);
typedef void S2TapeRelease(void *data);
S2Var s2_tape_node(S2Tape *tape, int count, const double *values, S2TapeBackward *backward,
                   S2TapeRelease *release, void *data);
// Memory that a node holds outside of the tape, for s2_tape_bytes.
void s2_tape_count_bytes(S2Tape *tape, ptrdiff_t bytes);

int s2_tape_count(const S2Tape *tape, S2Var node);           // of its numbers
const double *s2_tape_value(const S2Tape *tape, S2Var node); // valid until the next node is made
// During and after a sweep; valid until the next sweep or node. NULL for 0.
double *s2_tape_adjoint(S2Tape *tape, S2Var node);

// Is called at the start of every sweep (worlds empty their adjoints).
void s2_tape_at_start(S2Tape *tape, void (*start)(void *data), void *data);

// Adjoints of all nodes of dl/d(output) = seed (one a number of `output`, NULL: ones). May be
// repeated with other seeds and outputs. From a constant no adjoint comes. S2_INVALID for what has
// no numbers; S2_BUSY from within a sweep, where no nodes may be made either.
S2Status s2_tape_sweep(S2Tape *tape, S2Var output, const double *seed);
bool s2_tape_sweeping(const S2Tape *tape);
// The same of one number `output`, through the nodes from `first` on alone: adjoints of those are
// then the derivatives with respect to what was made since. Others have none that count.
S2Status s2_tape_sweep_since(S2Tape *tape, S2Var output, S2Var first);
S2Var s2_tape_next(const S2Tape *tape); // number of the node that will be made next

// ---- Jacobians --------------------------------------------------------------------------------

// One number of a node; var 0: a constant.
typedef struct S2TapeNumber {
  S2Var var;
  int index;
} S2TapeNumber;

// matrix[i * inputs + j] = d(output i)/d(input j). Either one sweep an output, or the derivatives
// by all inputs are carried once from the first node to the last, whichever costs less: what is
// recorded while the outputs grow in number (the rows of a log) costs as much as it is long.
S2Status s2_tape_jacobian(S2Tape *tape, int outputs, const S2TapeNumber *output, int inputs,
                          const S2TapeNumber *input, double *matrix);

// How a node takes derivatives forward: `forward` sets its s2_tape_tangent, and those of the world
// it acts upon, from the tangents of what it came from. `rows` says how often that calls its
// backward function (NULL: never). A node of numbers without it has its backward function called
// once for each of them; one that has no numbers and no `forward` only knows its way back.
typedef S2Status S2TapeForward(S2Tape *tape, S2Var node, void *data);
typedef int S2TapeRows(const void *data);
void s2_tape_set_forward(S2Tape *tape, S2Var node, S2TapeForward *forward, S2TapeRows *rows);

// Columns of tangents in the pass forward that runs; 0: none does.
int s2_tape_columns(const S2Tape *tape);
// Does a sweep run whose adjoints only say what the outputs depend on at all (not 0)? It comes
// before a pass forward.
bool s2_tape_probing(const S2Tape *tape);
// The tangents of a node in a pass forward: s2_tape_columns for each of its numbers. NULL for 0.
double *s2_tape_tangent(S2Tape *tape, S2Var node);
// Calls `backward` with the adjoints as they are and sets row[s2_tape_columns] to what it hands to
// nodes, times their tangents; those adjoints are 0 again.
S2Status s2_tape_row(S2Tape *tape, S2Var node, S2TapeBackward *backward, void *data, double *row);

#endif
