// Derivatives of many numbers with respect to many others. They are computed backwards from each
// output, or forwards with a column of tangents for each input. Most nodes have only a backward
// function. A forward pass calls it once for each of the node's numbers. So the cost of the pass is
// proportional to the length of the tape.
#include "base/memory.h"
#include "base/rng.h"
#include "diff/tape/tape_nodes.h"

#include <assert.h>
#include <string.h>

enum {
  // tangents held at once (128 MB); more inputs need several passes
  MOST_TANGENTS = 1 << 24,
  COST_OF_OTHER = 100, // cost of a backward function relative to a scalar operation
  PROBE_SEED = 1
};

typedef struct Wanted {
  S2Tape *tape;
  int outputs, inputs;
  const S2TapeNumber *output, *input;
  double *matrix;
  S2Var last;          // node of an output
  unsigned char *live; // 1 per number: true if some output depends on it
} Wanted;

int s2_tape_columns(const S2Tape *tape) {
  return tape->pass.columns;
}

bool s2_tape_probing(const S2Tape *tape) {
  return tape->probing;
}

static uint32_t jacobian_place(const S2Tape *tape, S2TapeNumber number) {
  return tape->node[number.var].at + (uint32_t)number.index;
}

double *s2_tape_tangent(S2Tape *tape, S2Var node) {
  assert(tape->pass.columns > 0 && node < tape->nodes);
  size_t columns = (size_t)tape->pass.columns;
  return node == 0 ? NULL : &tape->pass.tangent[tape->node[node].at * columns];
}

// ---- Backwards --------------------------------------------------------------------------------

static S2Status jacobian_backwards(const Wanted *wanted) {
  S2Tape *tape = wanted->tape;
  for (int i = 0; i < wanted->outputs; i++) {
    S2TapeNumber output = wanted->output[i];
    S2_TRY(s2_tape_begin(tape, output.var));
    s2_tape_run_starts(tape);
    if (output.var != 0) {
      tape->adjoint[jacobian_place(tape, output)] = 1;
      tape->sweeping = true;
      S2Status status = s2_tape_sweep_nodes(tape, output.var, 1);
      tape->sweeping = false;
      S2_TRY(status);
    }
    for (int j = 0; j < wanted->inputs; j++) {
      wanted->matrix[(size_t)i * (size_t)wanted->inputs + (size_t)j] =
          tape->adjoint[jacobian_place(tape, wanted->input[j])];
    }
  }
  return s2_ok();
}

// ---- The nodes that outputs depend on ---------------------------------------------------------

// Sweeps once from all outputs, each multiplied by a random number. Random factors do not cancel.
// So if an adjoint is 0, no output depends on the node.
static S2Status jacobian_probe(const Wanted *wanted) {
  S2Tape *tape = wanted->tape;
  S2Rng rng = s2_rng_seeded(PROBE_SEED);
  S2_TRY(s2_tape_begin(tape, wanted->last));
  s2_tape_run_starts(tape);
  for (int i = 0; i < wanted->outputs; i++) {
    if (wanted->output[i].var != 0) {
      tape->adjoint[jacobian_place(tape, wanted->output[i])] += 0.5 + s2_rng_uniform(&rng);
    }
  }
  tape->sweeping = tape->probing = true;
  S2Status status = s2_tape_sweep_nodes(tape, wanted->last, 1);
  tape->sweeping = tape->probing = false;
  S2_TRY(status);
  for (size_t i = 0; i < tape->numbers; i++) {
    wanted->live[i] = tape->adjoint[i] != 0;
  }
  return status;
}

// Returns true if a forward pass is possible and costs less than reverse sweeps. It is not possible
// if a node has neither numbers nor a forward function. Call this after the probe, which determines
// the number of rows of each node.
static bool jacobian_goes_forwards(const Wanted *wanted) {
  const S2Tape *tape = wanted->tape;
  double *before = s2_memory_take(sizeof *before * tape->nodes); // the cost of a sweep from that
                                                                 // node
  double sweep = 0, forwards = 0, backwards = 0;
  bool knows = true;
  before[0] = 0;
  for (S2Var var = 1; var <= wanted->last; var++) {
    const S2TapeNode *node = &tape->node[var];
    const S2TapeOther *other = node->other == 0 ? NULL : &tape->other[node->other - 1];
    bool acts = other != NULL && other->backward != NULL;
    sweep += acts ? COST_OF_OTHER : 1;
    before[var] = sweep;
    if (!acts) {
      forwards += wanted->inputs;
    } else if (other->forward != NULL) {
      forwards +=
          wanted->inputs + (other->rows == NULL ? 0 : COST_OF_OTHER * other->rows(other->data));
    } else {
      forwards += (double)COST_OF_OTHER * other->count;
      knows = knows && other->count > 0;
    }
  }
  for (int i = 0; i < wanted->outputs; i++) {
    backwards += before[wanted->output[i].var];
  }
  s2_memory_free(before);
  return knows && forwards < backwards;
}

// ---- Forwards ---------------------------------------------------------------------------------

static void jacobian_add(double *row, int columns, double factor, const double *tangent) {
  for (int j = 0; j < columns; j++) {
    row[j] += tangent[j] == 0 ? 0 : factor * tangent[j]; // as in a sweep, zeros are not passed on
  }
}

S2Status s2_tape_row(S2Tape *tape, S2Var node, S2TapeBackward *backward, void *data, double *row) {
  S2TapePass *pass = &tape->pass;
  memset(row, 0, sizeof *row * (size_t)pass->columns);
  pass->touched.count = 0;
  pass->gathers = true;
  S2Status status = backward(tape, node, data);
  pass->gathers = false;
  for (int i = 0; i < pass->touched.count; i++) {
    S2Var var = pass->touched.at[i];
    double *adjoint = s2_tape_adjoint(tape, var);
    const double *tangent = s2_tape_tangent(tape, var);
    int count = var == node ? 0 : s2_tape_count(tape, var);
    for (int k = 0; k < count; k++) {
      if (adjoint[k] != 0) {
        jacobian_add(row, pass->columns, adjoint[k], tangent + (size_t)k * (size_t)pass->columns);
        adjoint[k] = 0;
      }
    }
  }
  return status;
}

static void jacobian_scalar(S2Tape *tape, const S2TapeNode *node) {
  size_t columns = (size_t)tape->pass.columns;
  double *row = &tape->pass.tangent[node->at * columns];
  if (node->da != 0) {
    jacobian_add(row, (int)columns, node->da, &tape->pass.tangent[node->a * columns]);
  }
  if (node->db != 0) {
    jacobian_add(row, (int)columns, node->db, &tape->pass.tangent[node->b * columns]);
  }
}

static S2Status jacobian_rows(const Wanted *wanted, S2Var var, const S2TapeOther *other) {
  S2Tape *tape = wanted->tape;
  size_t columns = (size_t)tape->pass.columns;
  uint32_t at = tape->node[var].at;
  for (uint32_t k = at; k < at + (uint32_t)other->count; k++) {
    if (wanted->live[k]) {
      tape->adjoint[k] = 1;
      S2_TRY(
          s2_tape_row(tape, var, other->backward, other->data, &tape->pass.tangent[k * columns]));
      tape->adjoint[k] = 0;
    }
  }
  return s2_ok();
}

static S2Status jacobian_go_forwards(const Wanted *wanted) {
  S2Tape *tape = wanted->tape;
  for (S2Var var = 1; var <= wanted->last; var++) {
    const S2TapeNode *node = &tape->node[var];
    if (node->other == 0) {
      if (wanted->live[node->at]) {
        jacobian_scalar(tape, node);
      }
      continue;
    }
    const S2TapeOther *other = &tape->other[node->other - 1];
    if (other->forward != NULL) {
      S2_TRY(other->forward(tape, var, other->data));
    } else if (other->backward != NULL) {
      S2_TRY(jacobian_rows(wanted, var, other));
    }
  }
  return s2_ok();
}

// Computes the columns of inputs `first` to first + columns - 1.
static S2Status jacobian_columns(const Wanted *wanted, int first, int columns) {
  S2Tape *tape = wanted->tape;
  S2TapePass *pass = &tape->pass;
  S2_TRY(s2_tape_begin(tape, wanted->last));
  memset(pass->tangent, 0, sizeof(double) * tape->numbers * (size_t)columns);
  for (int j = 0; j < columns; j++) {
    size_t place = jacobian_place(tape, wanted->input[first + j]);
    pass->tangent[place * (size_t)columns + (size_t)j] = 1;
  }
  pass->columns = columns;
  s2_tape_run_starts(tape);
  tape->sweeping = true;
  S2Status status = jacobian_go_forwards(wanted);
  tape->sweeping = false;
  pass->columns = 0;
  for (int i = 0; i < wanted->outputs; i++) {
    size_t place = jacobian_place(tape, wanted->output[i]);
    for (int j = 0; j < columns; j++) {
      wanted->matrix[(size_t)i * (size_t)wanted->inputs + (size_t)(first + j)] =
          wanted->output[i].var == 0 ? 0 : pass->tangent[place * (size_t)columns + (size_t)j];
    }
  }
  return status;
}

static S2Status jacobian_forwards(const Wanted *wanted) {
  S2Tape *tape = wanted->tape;
  size_t most = MOST_TANGENTS / tape->numbers;
  int block = most < 1 ? 1 : most < (size_t)wanted->inputs ? (int)most : wanted->inputs;
  tape->pass.tangent = s2_memory_take(sizeof(double) * tape->numbers * (size_t)block);
  S2Status status = s2_ok();
  for (int first = 0; first < wanted->inputs && status.code == S2_OK; first += block) {
    int left = wanted->inputs - first;
    status = jacobian_columns(wanted, first, left < block ? left : block);
  }
  s2_memory_free(tape->pass.tangent);
  tape->pass.tangent = NULL;
  return status;
}

S2Status s2_tape_jacobian(S2Tape *tape, int outputs, const S2TapeNumber *output, int inputs,
                          const S2TapeNumber *input,
                          double *matrix) { // NOLINT(readability-non-const-parameter): this array
                                            // is written
  Wanted wanted = {tape, outputs, inputs, output, input, matrix, 0, NULL};
  for (int i = 0; i < outputs; i++) {
    wanted.last = output[i].var > wanted.last ? output[i].var : wanted.last;
  }
  if (outputs <= inputs || wanted.last == 0) {
    return jacobian_backwards(&wanted);
  }
  wanted.live = s2_memory_take_zeroed(tape->numbers);
  S2Status status = jacobian_probe(&wanted);
  if (status.code == S2_OK) {
    status =
        jacobian_goes_forwards(&wanted) ? jacobian_forwards(&wanted) : jacobian_backwards(&wanted);
  }
  s2_memory_free(wanted.live);
  return status;
}
