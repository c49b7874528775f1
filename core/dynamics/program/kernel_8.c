// Kernels that step eight islands side by side.
#define S2_LANES 8
#include "dynamics/program/kernel.h"
#include "dynamics/program/stock.h"

void s2_table_step_8(const S2Table *table, const void *constants, void *state) {
  if (table->stock != S2_STOCK_NONE) {
    s2_stock_step_8(table, constants, state);
  } else {
    kernel_step(table, constants, state);
  }
}
