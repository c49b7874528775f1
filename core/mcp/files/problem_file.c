// Reads and writes problems as text (docs/problem-format.md). Each line has a word and its numbers,
// so that a dumped problem can be read, reduced and stored as a test.
#include "base/memory.h"
#include "mcp/files/text_file.h"
#include "mcp/mcp.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum {
  VERSION = 1,
  // Length of the shortest node line in bytes. It limits the number of nodes in a file.
  LEAST_NODE_LINE = 17,
  // Length of the shortest row line in bytes. It limits the number of rows in a file.
  LEAST_ROW_LINE = 34,
};

// ---- writing

static void problem_write_text(FILE *file, const void *user) {
  const S2Problem *problem = user;
  fprintf(file, "sim2d-problem %d\n", VERSION);
  // Write the scales, then one line for each node and each row.
  fprintf(file, "velocity_scale ");
  s2_text_line(file, &problem->velocity_scale, 1);
  fprintf(file, "length ");
  s2_text_line(file, &problem->length, 1);
  fprintf(file, "nodes %d\nrows %d\n", problem->nodes, problem->rows);
  fprintf(file, "# node: mass (I m m), right side (3)\n");
  for (int i = 0; i < problem->nodes; ++i) {
    fprintf(file, "node ");
    s2_text_numbers(file, problem->mass + 3 * i, 3);
    fputc(' ', file);
    s2_text_line(file, problem->rhs + 3 * i, 3);
  }
  fprintf(file, "# row: a b coupled_to group, lo hi mu compliance bias, Jacobian of a, of b\n");
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    const double numbers[11] = {row->lo,    row->hi,    row->mu,    row->compliance,
                                row->bias,  row->ja[0], row->ja[1], row->ja[2],
                                row->jb[0], row->jb[1], row->jb[2]};
    fprintf(file, "row %d %d %d %d ", (int)row->a, (int)row->b, (int)row->coupled_to,
            (int)row->group);
    s2_text_line(file, numbers, 11);
  }
  fprintf(file, "end\n");
}

S2Status s2_problem_write(const S2Problem *problem, const char *path) {
  if (problem->mobility != NULL) {
    return s2_error(S2_INVALID, "%s: a problem in local form is not a step problem", path);
  }
  return s2_text_write(path, problem_write_text, problem);
}

// ---- reading

static S2Status problem_read_finite(S2Tokens *reader, const char *name, double *values, int count) {
  for (int i = 0; i < count; ++i) {
    S2_TRY(s2_tokens_real(reader, name, S2_FINITE_REALS, &values[i]));
  }
  return s2_ok();
}

static S2Status problem_read_positive(S2Tokens *reader, const char *name, double *values,
                                      int count) {
  S2_TRY(problem_read_finite(reader, name, values, count));
  for (int i = 0; i < count; ++i) {
    if (!(values[i] > 0)) {
      return s2_tokens_complain(reader, "%s is %g; it must be above 0", name, values[i]);
    }
  }
  return s2_ok();
}

static S2Status problem_read_node(S2Tokens *reader, double *mass, double *rhs) {
  S2_TRY(s2_tokens_expect(reader, "node"));
  S2_TRY(problem_read_positive(reader, "mass", mass, 3));
  S2_TRY(problem_read_finite(reader, "right side", rhs, 3));
  return s2_tokens_end_line(reader);
}

static S2Status problem_check_row(const S2Tokens *reader, const S2Row *rows, int index) {
  const S2Row *row = &rows[index];
  if (row->a == S2_GROUND && row->b == S2_GROUND) {
    return s2_tokens_complain(reader, "a row needs at least one node: both are %d (ground)",
                              S2_GROUND);
  }
  // A friction row directly follows its normal row. Other rows have bounds.
  if (row->coupled_to >= 0) {
    bool follows =
        row->coupled_to == index - 1 && rows[index - 1].coupled_to < 0 && rows[index - 1].lo == 0;
    if (!follows) {
      return s2_tokens_complain(reader,
                                "row %d is coupled to row %d; a friction row must directly follow "
                                "its normal row (lo = 0)",
                                index, (int)row->coupled_to);
    }
  } else if (row->lo > row->hi || row->lo == INFINITY || row->hi == -INFINITY) {
    return s2_tokens_complain(reader, "bounds %g..%g are empty", row->lo, row->hi);
  }
  if (row->mu < 0) {
    return s2_tokens_complain(reader, "mu is %g; it must not be negative", row->mu);
  }
  if (row->compliance < 0) {
    return s2_tokens_complain(reader, "compliance is %g; it must not be negative", row->compliance);
  }
  if (index > 0 && row->group < rows[index - 1].group) {
    return s2_tokens_complain(reader, "group %d after %d: groups must ascend", (int)row->group,
                              (int)rows[index - 1].group);
  }
  return s2_ok();
}

static S2Status problem_read_row(S2Tokens *reader, S2Row *rows, int index, int nodes) {
  int a, b, coupled_to, group;
  S2Row *row = &rows[index];
  S2_TRY(s2_tokens_expect(reader, "row"));
  S2_TRY(s2_tokens_integer(reader, "node a", S2_GROUND, nodes - 1, &a));
  S2_TRY(s2_tokens_integer(reader, "node b", S2_GROUND, nodes - 1, &b));
  S2_TRY(s2_tokens_integer(reader, "coupled_to", -1, INT_MAX, &coupled_to));
  S2_TRY(s2_tokens_integer(reader, "group", 0, INT_MAX, &group));
  *row = (S2Row){.a = a, .b = b, .coupled_to = coupled_to, .group = group};
  S2_TRY(s2_tokens_real(reader, "lo", S2_NO_NAN, &row->lo));
  S2_TRY(s2_tokens_real(reader, "hi", S2_NO_NAN, &row->hi));
  S2_TRY(problem_read_finite(reader, "mu", &row->mu, 1));
  S2_TRY(problem_read_finite(reader, "compliance", &row->compliance, 1));
  S2_TRY(problem_read_finite(reader, "bias", &row->bias, 1));
  S2_TRY(problem_read_finite(reader, "Jacobian of a", row->ja, 3));
  S2_TRY(problem_read_finite(reader, "Jacobian of b", row->jb, 3));
  S2_TRY(s2_tokens_end_line(reader));
  return problem_check_row(reader, rows, index);
}

// Reads the lines before the first node.
static S2Status problem_read_header(S2Tokens *reader, S2Problem *header) {
  int version;
  S2_TRY(s2_tokens_expect(reader, "sim2d-problem"));
  S2_TRY(s2_tokens_integer(reader, "version", VERSION, VERSION, &version));
  S2_TRY(s2_tokens_end_line(reader));
  S2_TRY(s2_tokens_expect(reader, "velocity_scale"));
  S2_TRY(problem_read_positive(reader, "velocity_scale", &header->velocity_scale, 1));
  S2_TRY(s2_tokens_end_line(reader));
  S2_TRY(s2_tokens_expect(reader, "length"));
  S2_TRY(problem_read_positive(reader, "length", &header->length, 1));
  S2_TRY(s2_tokens_end_line(reader));
  S2_TRY(s2_tokens_expect(reader, "nodes"));
  S2_TRY(s2_tokens_integer(reader, "nodes", 0, INT_MAX, &header->nodes));
  if ((size_t)header->nodes > reader->size / LEAST_NODE_LINE) {
    return s2_tokens_complain(reader, "%d nodes do not fit into a file of this size",
                              header->nodes);
  }
  S2_TRY(s2_tokens_end_line(reader));
  S2_TRY(s2_tokens_expect(reader, "rows"));
  S2_TRY(s2_tokens_integer(reader, "rows", 0, INT_MAX, &header->rows));
  if ((size_t)header->rows > reader->size / LEAST_ROW_LINE) {
    return s2_tokens_complain(reader, "%d rows do not fit into a file of this size", header->rows);
  }
  return s2_tokens_end_line(reader);
}

static S2Status problem_read_body(S2Tokens *reader, const S2Problem *problem, double *mass,
                                  double *rhs, S2Row *row) {
  for (int i = 0; i < problem->nodes; ++i) {
    S2_TRY(problem_read_node(reader, mass + 3 * i, rhs + 3 * i));
  }
  for (int i = 0; i < problem->rows; ++i) {
    S2_TRY(problem_read_row(reader, row, i, problem->nodes));
  }
  S2_TRY(s2_tokens_expect(reader, "end"));
  return s2_tokens_end_line(reader);
}

// A memory block that contains a problem, its rows and its vectors, in this order.
typedef struct Block {
  S2Problem problem;
  S2Row row[];
} Block;

static S2Status problem_read_text(S2Tokens *reader, void **problem) {
  S2Problem header = {0};
  S2_TRY(problem_read_header(reader, &header));
  // Allocate one block for everything, so that it can be freed together.
  size_t nodes = (size_t)header.nodes, rows = (size_t)header.rows;
  Block *block =
      s2_memory_take_zeroed(sizeof(Block) + rows * sizeof(S2Row) + 6 * nodes * sizeof(double));
  double *mass = (double *)(void *)(block->row + rows), *rhs = mass + 3 * nodes;
  block->problem = header;
  block->problem.mass = mass;
  block->problem.rhs = rhs;
  block->problem.row = block->row;
  S2Status status = problem_read_body(reader, &header, mass, rhs, block->row);
  if (status.code != S2_OK) {
    s2_memory_free(block);
    return status;
  }
  *problem = &block->problem;
  return status;
}

S2Status s2_problem_read(const char *path, S2Problem **problem) {
  void *read = NULL;
  S2Status status = s2_text_read(path, problem_read_text, &read);
  *problem = read;
  return status;
}

void s2_problem_free(S2Problem *problem) {
  s2_memory_free(problem);
}
