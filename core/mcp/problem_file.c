// Problems as text (docs/problem-format.md): one word and its numbers per line, so that a dumped
// problem can be read, cut down and kept as a test.
#include "base/memory.h"
#include "mcp/mcp.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  VERSION = 1,
  READ_CHUNK = 65536,   // bytes at first; doubles as the file turns out longer
  LEAST_NODE_LINE = 17, // bytes of the shortest line of its kind: bounds the counts a file can
  LEAST_ROW_LINE = 34,  // honestly announce, before anything is allocated for them
};

static const size_t LARGEST_FILE = (size_t)1 << 30; // bytes; ends the reading of a device or pipe

typedef struct Reader {
  const char *path;
  char *next; // start of the next line
  char *at;   // what is left of the current line
  int line;
} Reader;

// ---- writing

static void write_numbers(FILE *file, const double *x, int count) {
  for (int i = 0; i < count; ++i) {
    fprintf(file, " %.17g", x[i]);
  }
}

static void write_problem(FILE *file, const S2Problem *problem) {
  fprintf(file, "sim2d-problem %d\n", VERSION);
  fprintf(file, "velocity_scale %.17g\nlength %.17g\n", problem->velocity_scale, problem->length);
  fprintf(file, "nodes %d\nrows %d\n", problem->nodes, problem->rows);
  fprintf(file, "# node: mass (I m m), right side (3)\n");
  for (int i = 0; i < problem->nodes; ++i) {
    fprintf(file, "node");
    write_numbers(file, problem->mass + 3 * i, 3);
    write_numbers(file, problem->rhs + 3 * i, 3);
    fprintf(file, "\n");
  }
  fprintf(file, "# row: a b coupled_to group, lo hi mu compliance bias, Jacobian of a, of b\n");
  for (int i = 0; i < problem->rows; ++i) {
    const S2Row *row = &problem->row[i];
    const double numbers[5] = {row->lo, row->hi, row->mu, row->compliance, row->bias};
    fprintf(file, "row %d %d %d %d", (int)row->a, (int)row->b, (int)row->coupled_to,
            (int)row->group);
    write_numbers(file, numbers, 5);
    write_numbers(file, row->ja, 3);
    write_numbers(file, row->jb, 3);
    fprintf(file, "\n");
  }
  fprintf(file, "end\n");
}

S2Status s2_problem_write(const S2Problem *problem, const char *path) {
  if (problem->mobility != NULL) {
    return s2_error(S2_INVALID, "%s: a problem in local form is not a step problem", path);
  }
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno));
  }
  write_problem(file, problem);
  bool failed = ferror(file) != 0;
  failed = fclose(file) != 0 || failed;
  return failed ? s2_error(S2_IO, "cannot write '%s': %s", path, strerror(errno)) : s2_ok();
}

// ---- reading: the text

static S2Status read_text(const char *path, char **text, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(errno));
  }
  size_t capacity = READ_CHUNK, used = 0;
  char *bytes = s2_memory_take(capacity);
  while ((used += fread(bytes + used, 1, capacity - 1 - used, file)) == capacity - 1 &&
         used < LARGEST_FILE) {
    capacity *= 2;
    bytes = s2_memory_grow(bytes, capacity);
  }
  bool failed = ferror(file) != 0;
  int reason = errno;
  fclose(file);
  if (failed || used >= LARGEST_FILE || memchr(bytes, 0, used) != NULL) {
    s2_memory_free(bytes);
    if (failed) {
      return s2_error(S2_IO, "cannot read '%s': %s", path, strerror(reason));
    }
    return s2_error(S2_INVALID,
                    used >= LARGEST_FILE ? "%s: larger than a problem file may be"
                                         : "%s: not a text file",
                    path);
  }
  bytes[used] = 0;
  *text = bytes;
  *size = used;
  return s2_ok();
}

static S2Status complain(const Reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static S2Status complain(const Reader *reader, const char *format, ...) {
  char message[S2_MESSAGE_SIZE / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return s2_error(S2_INVALID, "%s:%d: %s", reader->path, reader->line, message);
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Ends the current word with a 0 and steps past it; NULL at the end of the line.
static char *next_word(Reader *reader) {
  char *word = reader->at;
  while (is_blank(*word)) {
    ++word;
  }
  if (*word == 0) {
    reader->at = word;
    return NULL;
  }
  char *stop = word;
  while (*stop != 0 && !is_blank(*stop)) {
    ++stop;
  }
  reader->at = *stop == 0 ? stop : stop + 1;
  *stop = 0;
  return word;
}

// Goes to the next line that says something and checks that it starts with `keyword`.
static S2Status expect_line(Reader *reader, const char *keyword) {
  while (*reader->next != 0) {
    char *line = reader->next, *stop = line;
    while (*stop != 0 && *stop != '\n') {
      ++stop;
    }
    reader->next = *stop == 0 ? stop : stop + 1;
    *stop = 0;
    char *comment = strchr(line, '#');
    if (comment != NULL) {
      *comment = 0;
    }
    reader->at = line;
    reader->line += 1;
    const char *word = next_word(reader);
    if (word != NULL) {
      return strcmp(word, keyword) == 0
                 ? s2_ok()
                 : complain(reader, "expected '%s', found '%.40s'", keyword, word);
    }
  }
  return complain(reader, "the file ends where '%s' was expected", keyword);
}

static S2Status end_line(Reader *reader) {
  const char *word = next_word(reader);
  return word == NULL ? s2_ok() : complain(reader, "unexpected '%.40s'", word);
}

static S2Status read_integer(Reader *reader, const char *name, long lo, long hi, int *value) {
  const char *word = next_word(reader);
  if (word == NULL) {
    return complain(reader, "%s is missing", name);
  }
  char *stop;
  errno = 0;
  long number = strtol(word, &stop, 10);
  if (*stop != 0) {
    return complain(reader, "%s must be an integer, not '%.40s'", name, word);
  }
  if (errno != 0 || number < lo || number > hi) {
    return complain(reader, "%s is %.40s; it must be in %ld..%ld", name, word, lo, hi);
  }
  *value = (int)number;
  return s2_ok();
}

static S2Status read_number(Reader *reader, const char *name, double *value) {
  const char *word = next_word(reader);
  if (word == NULL) {
    return complain(reader, "%s is missing", name);
  }
  char *stop;
  *value = strtod(word, &stop);
  if (*stop != 0) {
    return complain(reader, "%s must be a number, not '%.40s'", name, word);
  }
  if (isnan(*value)) {
    return complain(reader, "%s is not a number (nan)", name);
  }
  return s2_ok();
}

static S2Status read_finite(Reader *reader, const char *name, double *values, int count) {
  for (int i = 0; i < count; ++i) {
    S2_TRY(read_number(reader, name, &values[i]));
    if (isinf(values[i])) {
      return complain(reader, "%s must be finite", name);
    }
  }
  return s2_ok();
}

static S2Status read_positive(Reader *reader, const char *name, double *values, int count) {
  S2_TRY(read_finite(reader, name, values, count));
  for (int i = 0; i < count; ++i) {
    if (!(values[i] > 0)) {
      return complain(reader, "%s is %g; it must be above 0", name, values[i]);
    }
  }
  return s2_ok();
}

// ---- reading: the problem

static S2Status read_node(Reader *reader, double *mass, double *rhs) {
  S2_TRY(expect_line(reader, "node"));
  S2_TRY(read_positive(reader, "mass", mass, 3));
  S2_TRY(read_finite(reader, "right side", rhs, 3));
  return end_line(reader);
}

static S2Status check_row(const Reader *reader, const S2Row *rows, int index) {
  const S2Row *row = &rows[index];
  if (row->a == S2_GROUND && row->b == S2_GROUND) {
    return complain(reader, "a row needs a node: both are %d (ground)", S2_GROUND);
  }
  if (row->coupled_to >= 0) {
    bool follows =
        row->coupled_to == index - 1 && rows[index - 1].coupled_to < 0 && rows[index - 1].lo == 0;
    if (!follows) {
      return complain(reader,
                      "row %d is coupled to row %d; a friction row must directly follow "
                      "its normal row (lo = 0)",
                      index, (int)row->coupled_to);
    }
  } else if (row->lo > row->hi || row->lo == INFINITY || row->hi == -INFINITY) {
    return complain(reader, "bounds %g..%g are empty", row->lo, row->hi);
  }
  if (row->mu < 0) {
    return complain(reader, "mu is %g; it must not be negative", row->mu);
  }
  if (row->compliance < 0) {
    return complain(reader, "compliance is %g; it must not be negative", row->compliance);
  }
  if (index > 0 && row->group < rows[index - 1].group) {
    return complain(reader, "group %d after %d: groups must ascend", (int)row->group,
                    (int)rows[index - 1].group);
  }
  return s2_ok();
}

static S2Status read_row(Reader *reader, S2Row *rows, int index, int nodes) {
  int a, b, coupled_to, group;
  S2Row *row = &rows[index];
  S2_TRY(expect_line(reader, "row"));
  S2_TRY(read_integer(reader, "node a", S2_GROUND, nodes - 1, &a));
  S2_TRY(read_integer(reader, "node b", S2_GROUND, nodes - 1, &b));
  S2_TRY(read_integer(reader, "coupled_to", -1, INT_MAX, &coupled_to));
  S2_TRY(read_integer(reader, "group", 0, INT_MAX, &group));
  *row = (S2Row){.a = a, .b = b, .coupled_to = coupled_to, .group = group};
  S2_TRY(read_number(reader, "lo", &row->lo));
  S2_TRY(read_number(reader, "hi", &row->hi));
  S2_TRY(read_finite(reader, "mu", &row->mu, 1));
  S2_TRY(read_finite(reader, "compliance", &row->compliance, 1));
  S2_TRY(read_finite(reader, "bias", &row->bias, 1));
  S2_TRY(read_finite(reader, "Jacobian of a", row->ja, 3));
  S2_TRY(read_finite(reader, "Jacobian of b", row->jb, 3));
  S2_TRY(end_line(reader));
  return check_row(reader, rows, index);
}

// The lines before the first node. `size` is the file's, in bytes.
static S2Status read_header(Reader *reader, size_t size, S2Problem *header) {
  int version;
  S2_TRY(expect_line(reader, "sim2d-problem"));
  S2_TRY(read_integer(reader, "version", VERSION, VERSION, &version));
  S2_TRY(end_line(reader));
  S2_TRY(expect_line(reader, "velocity_scale"));
  S2_TRY(read_positive(reader, "velocity_scale", &header->velocity_scale, 1));
  S2_TRY(end_line(reader));
  S2_TRY(expect_line(reader, "length"));
  S2_TRY(read_positive(reader, "length", &header->length, 1));
  S2_TRY(end_line(reader));
  S2_TRY(expect_line(reader, "nodes"));
  S2_TRY(read_integer(reader, "nodes", 0, INT_MAX, &header->nodes));
  if ((size_t)header->nodes > size / LEAST_NODE_LINE) {
    return complain(reader, "%d nodes do not fit into a file of this size", header->nodes);
  }
  S2_TRY(end_line(reader));
  S2_TRY(expect_line(reader, "rows"));
  S2_TRY(read_integer(reader, "rows", 0, INT_MAX, &header->rows));
  if ((size_t)header->rows > size / LEAST_ROW_LINE) {
    return complain(reader, "%d rows do not fit into a file of this size", header->rows);
  }
  return end_line(reader);
}

static S2Status read_body(Reader *reader, const S2Problem *problem, double *mass, double *rhs,
                          S2Row *row) {
  for (int i = 0; i < problem->nodes; ++i) {
    S2_TRY(read_node(reader, mass + 3 * i, rhs + 3 * i));
  }
  for (int i = 0; i < problem->rows; ++i) {
    S2_TRY(read_row(reader, row, i, problem->nodes));
  }
  S2_TRY(expect_line(reader, "end"));
  return end_line(reader);
}

// A problem, its rows and its vectors, in this order, are one block.
typedef struct Block {
  S2Problem problem;
  S2Row row[];
} Block;

static S2Status read_problem(Reader *reader, size_t size, S2Problem **problem) {
  S2Problem header = {0};
  S2_TRY(read_header(reader, size, &header));
  size_t nodes = (size_t)header.nodes, rows = (size_t)header.rows;
  Block *block =
      s2_memory_take_zeroed(sizeof(Block) + rows * sizeof(S2Row) + 6 * nodes * sizeof(double));
  double *mass = (double *)(void *)(block->row + rows), *rhs = mass + 3 * nodes;
  block->problem = header;
  block->problem.mass = mass;
  block->problem.rhs = rhs;
  block->problem.row = block->row;
  S2Status status = read_body(reader, &header, mass, rhs, block->row);
  if (status.code != S2_OK) {
    s2_memory_free(block);
    return status;
  }
  *problem = &block->problem;
  return status;
}

S2Status s2_problem_read(const char *path, S2Problem **problem) {
  *problem = NULL;
  char *text = NULL;
  size_t size = 0;
  S2Status status = read_text(path, &text, &size);
  if (text == NULL) {
    return status;
  }
  Reader reader = {.path = path, .next = text, .at = text};
  status = read_problem(&reader, size, problem);
  s2_memory_free(text);
  return status;
}

void s2_problem_free(S2Problem *problem) {
  s2_memory_free(problem);
}
