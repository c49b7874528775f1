// One island.
#define S2_LANES 1
#include "dynamics/program/kernel.h"
#include "dynamics/program/kernel_adjoint.h"
#include "dynamics/program/stock/stock.h"

void s2_table_step_1(const S2Table *table, const void *constants, void *state, void *record) {
  if (table->stock != S2_STOCK_NONE) {
    s2_stock_step_1(table, constants, state, record);
  } else {
    kernel_step(table, constants, state, record);
  }
}

void s2_table_adjoint_1(const S2Table *table, const void *constants, const void *record, bool asked,
                        void *bars) {
  if (table->stock != S2_STOCK_NONE) {
    s2_stock_adjoint_1(table, constants, record, asked, bars);
  } else {
    kernel_adjoint(table, constants, record, asked, bars);
  }
}
