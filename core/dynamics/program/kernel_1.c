// One island.
#define S2_LANES 1
#include "dynamics/program/kernel.h"

void s2_table_step_1(const S2Table *table, const void *constants, void *state) {
  kernel_step(table, constants, state);
}
