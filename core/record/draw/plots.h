// Plots of a script that are shown beside a run. Each plot is an SVG with a name.
#ifndef S2_PLOTS_H
#define S2_PLOTS_H

#include "base/array.h"

typedef struct S2Plot {
  char *name, *svg; // owned
} S2Plot;

// A structure of zeros has no plots.
typedef struct S2Plots {
  S2_ARRAY(S2Plot) list;
  int changes; // number of calls that added a plot
} S2Plots;

// Copies its arguments. A new plot replaces the plot of the same name, if there is one.
void s2_plots_put(S2Plots *plots, const char *name, const char *svg);
// If there are many plots, append all of them, with any names. Then call the second function once.
// It keeps only the last plot of each name, at the position of the first plot of this name.
void s2_plots_append(S2Plots *plots, const char *name, size_t name_size, const char *svg,
                     size_t svg_size);
void s2_plots_settle(S2Plots *plots);
void s2_plots_free(S2Plots *plots);

#endif
