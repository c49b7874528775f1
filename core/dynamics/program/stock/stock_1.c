// Kernels for one island with a table of stock.h.
#define S2_LANES 1
#define S2_STOCK
#include "dynamics/program/kernel.h"
#include "dynamics/program/kernel_adjoint.h"
#include "dynamics/program/stock/stock.h"

S2_STOCK_TABLES(S2_STOCK_DEFINE)

void s2_stock_step_1(const S2Table *table, const void *constants, void *state, void *record) {
  switch ((S2Stock)table->stock) {
#define S2_STOCK_STEP(ID, first, in_stages)                                                        \
  case S2_STOCK_##ID:                                                                              \
    kernel_step(&s2_stock_##ID, constants, state, record);                                         \
    break;
    S2_STOCK_TABLES(S2_STOCK_STEP)
  case S2_STOCK_NONE:
    break;
  }
}

void s2_stock_adjoint_1(const S2Table *table, const void *constants, const void *record, bool asked,
                        void *bars) {
  switch ((S2Stock)table->stock) {
#define S2_STOCK_ADJOINT(ID, first, in_stages)                                                     \
  case S2_STOCK_##ID:                                                                              \
    if (in_stages) { /* other steps are not recorded */                                            \
      kernel_adjoint(&s2_stock_##ID, constants, record, asked, bars);                              \
    }                                                                                              \
    break;
    S2_STOCK_TABLES(S2_STOCK_ADJOINT)
  case S2_STOCK_NONE:
    break;
  }
}
