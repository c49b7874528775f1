// The source of stock_N.c: kernels for the tables of stock.h, with S2_LANES lanes.
#ifndef S2_STOCK_KERNEL_H
#define S2_STOCK_KERNEL_H

#define S2_STOCK
#include "dynamics/program/kernel.h"
#include "dynamics/program/kernel_adjoint.h"
#include "dynamics/program/stock/stock.h"

// s2_stock_step_4 and so on
#define S2_STOCK_JOIN(name, lanes)  s2_stock_##name##_##lanes
#define S2_STOCK_LANES(name, lanes) S2_STOCK_JOIN(name, lanes)
#define S2_STOCK_NAME(name)         S2_STOCK_LANES(name, S2_LANES)

S2_STOCK_TABLES(S2_STOCK_DEFINE)

void S2_STOCK_NAME(step)(const S2Table *table, const void *constants, void *state, void *record) {
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

void S2_STOCK_NAME(adjoint)(const S2Table *table, const void *constants, const void *record,
                            bool asked, void *bars) {
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

#endif
