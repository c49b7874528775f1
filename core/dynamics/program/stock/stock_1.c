// Kernels for one island with a table of stock.h.
#define S2_LANES 1
#include "dynamics/program/stock/stock_kernel.h"
