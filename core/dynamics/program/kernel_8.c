// Eight islands side by side.
#define S2_LANES 8
#include "dynamics/program/kernel.h"

void s2_table_step_8(const S2Table *table, const void *constants, void *state) {
  kernel_step(table, constants, state);
}
