#include "dynamics/program/recorded.h"

#include <string.h>

static size_t record_most(int lanes) {
  size_t head = 3 * S2_TABLE_NODES + 6 * S2_TABLE_GROUNDS + 1;
  size_t piece = 6 * S2_TABLE_NODES + 4 * S2_TABLE_JOINTS;
  return sizeof(double) * (size_t)lanes * (head + S2_TABLE_PIECES * piece);
}

void s2_recorder_init(S2Recorder *recorder, int lanes) {
  *recorder = (S2Recorder){0};
  s2_arena_init(&recorder->arena);
  // Numbers of a record that a kernel does not write keep these zeros.
  size_t align = S2_ARENA_ALIGNMENT;
  unsigned char *memory = s2_memory_take_zeroed(record_most(lanes) + align);
  recorder->memory = memory;
  recorder->scratch = (void *)(memory + (align - (uintptr_t)memory % align));
}

void s2_recorder_reset(S2Recorder *recorder) {
  s2_arena_reset(&recorder->arena);
  recorder->steps.count = 0;
}

void s2_recorder_free(S2Recorder *recorder) {
  s2_arena_free(&recorder->arena);
  s2_array_free(recorder->steps);
  s2_memory_free(recorder->memory);
}

const double *s2_recorder_keep(S2Recorder *recorder, const S2Table *table, int lanes) {
  const double *record = recorder->scratch;
  const double *pieces = record + (ptrdiff_t)(lanes * (s2_table_head(table) - 1));
  double most = 0;
  for (int i = 0; i < lanes; i++) {
    most = pieces[i] > most ? pieces[i] : most;
  }
  int numbers = lanes * (s2_table_head(table) + (int)most * s2_table_piece(table));
  return s2_arena_copy(&recorder->arena, record, numbers);
}

void s2_table_step(int lanes, const S2Table *table, const void *constants, void *state,
                   void *record) {
#ifdef S2_HAVE_LANES
  if (lanes == 8) {
    s2_table_step_8(table, constants, state, record);
  } else if (lanes == 4) {
    s2_table_step_4(table, constants, state, record);
  }
#endif
  if (lanes == 1) {
    s2_table_step_1(table, constants, state, record);
  }
}

void s2_table_adjoint(int lanes, const S2Table *table, const void *constants, const void *record,
                      bool asked, void *bars) {
#ifdef S2_HAVE_LANES
  if (lanes == 8) {
    s2_table_adjoint_8(table, constants, record, asked, bars);
  } else if (lanes == 4) {
    s2_table_adjoint_4(table, constants, record, asked, bars);
  }
#endif
  if (lanes == 1) {
    s2_table_adjoint_1(table, constants, record, asked, bars);
  }
}
