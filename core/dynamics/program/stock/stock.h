// Private to core/dynamics/program: tables of common worlds, and kernels that are compiled for
// them. They take two thirds of the time of other kernels, because they do not read a table.
#ifndef S2_STOCK_H
#define S2_STOCK_H

#include "dynamics/program/table.h"

// S2_STOCK_TABLE(ID, type of the first joint, S2Table.rattles): a world of two bodies. The first
// joint connects the first body (side a) to the world. The second joint is a hinge that connects
// the second body (side a) to the first.
#define S2_STOCK_TABLES(S2_STOCK_TABLE)                                                            \
  S2_STOCK_TABLE(CART_POLE, S2_TABLE_SLIDER, false)                                                \
  S2_STOCK_TABLE(DOUBLE_PENDULUM, S2_TABLE_HINGE, false)                                           \
  S2_STOCK_TABLE(CART_POLE_IN_STAGES, S2_TABLE_SLIDER, true)                                       \
  S2_STOCK_TABLE(DOUBLE_PENDULUM_IN_STAGES, S2_TABLE_HINGE, true)

typedef enum S2Stock {
  S2_STOCK_NONE,
#define S2_STOCK_ID(ID, first, in_stages) S2_STOCK_##ID,
  S2_STOCK_TABLES(S2_STOCK_ID)
#undef S2_STOCK_ID
} S2Stock;

#define S2_STOCK_DEFINE(ID, first, in_stages)                                                      \
  static const S2Table s2_stock_##ID = {                                                           \
      .stock = S2_STOCK_##ID,                                                                      \
      .nodes = 2,                                                                                  \
      .grounds = 1,                                                                                \
      .joints = 2,                                                                                 \
      .blocks = 1,                                                                                 \
      .fills = 4,                                                                                  \
      .rattles = (in_stages),                                                                      \
      .stands = {true},                                                                            \
      .type = {(first), S2_TABLE_HINGE},                                                           \
      .a = {0, 1},                                                                                 \
      .b = {2, 0},                                                                                 \
      .order = {0, 1},                                                                             \
      .place = {0, 1},                                                                             \
      .extends = {true},                                                                           \
      .column = {0, 1, 1},                                                                         \
      .row = {1},                                                                                  \
      .row_start = {0, 0, 1},                                                                      \
      .fill = {{0, 0, 0, 0, 0, -1}, {0, 1, 1, 0, 0, 0}, {0, 1, 1, 1, 1, -1}, {1, 1, 0, 1, 0, -1}}, \
  };

// Steps islands that have one of these tables. The table's `stock` selects the kernel.
S2TableKernel s2_stock_step_1;
S2TableAdjoint s2_stock_adjoint_1;
#ifdef S2_HAVE_LANES
S2TableKernel s2_stock_step_4, s2_stock_step_8;
S2TableAdjoint s2_stock_adjoint_4, s2_stock_adjoint_8;
#endif

#endif
