// Kernels that step eight islands side by side, with the tables of stock.h.
#define S2_LANES 8
#include "dynamics/program/stock/stock_kernel.h"
