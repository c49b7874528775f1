// The plots that a script shows beside a run. Each plot is an SVG with a name.
#ifndef S2_PLOTS_H
#define S2_PLOTS_H

#include "base/array.h"

typedef struct S2Plot {
  char *name, *svg; // owned
} S2Plot;

// A structure of zeros is an empty list.
typedef struct S2Plots {
  S2_ARRAY(S2Plot) list;
  int changes; // number of plots that were ever added
} S2Plots;

// Copies a plot. It replaces an existing plot of the same name.
void s2_plots_put(S2Plots *plots, const char *name, const char *svg);
// Use these functions for many plots. Append all of them, then call the second function once. It
// only keeps the last plot of each name, at the position of the first one.
void s2_plots_append(S2Plots *plots, const char *name, size_t name_size, const char *svg,
                     size_t svg_size);
void s2_plots_settle(S2Plots *plots);
void s2_plots_free(S2Plots *plots);

#endif
