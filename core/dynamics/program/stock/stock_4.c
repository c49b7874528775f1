// Kernels that step four islands side by side, with the tables of stock.h.
#define S2_LANES 4
#include "dynamics/program/stock/stock_kernel.h"
