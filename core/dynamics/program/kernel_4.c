// Kernels that step four islands side by side.
#define S2_LANES 4
#include "dynamics/program/kernel.h"
#include "dynamics/program/kernel_adjoint.h"
#include "dynamics/program/stock/stock.h"

void s2_table_step_4(const S2Table *table, const void *constants, void *state, void *record) {
  if (table->stock != S2_STOCK_NONE) {
    s2_stock_step_4(table, constants, state, record);
  } else {
    kernel_step(table, constants, state, record);
  }
}

void s2_table_adjoint_4(const S2Table *table, const void *constants, const void *record, bool asked,
                        void *bars) {
  if (table->stock != S2_STOCK_NONE) {
    s2_stock_adjoint_4(table, constants, record, asked, bars);
  } else {
    kernel_adjoint(table, constants, record, asked, bars);
  }
}
