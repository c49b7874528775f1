// Plots of a script, kept to be shown beside a run: SVG under a name.
#ifndef S2_PLOTS_H
#define S2_PLOTS_H

#include "base/array.h"

typedef struct S2Plot {
  char *name, *svg; // owned
} S2Plot;

// All zeros: none.
typedef struct S2Plots {
  S2_ARRAY(S2Plot) list;
  int changes; // how often something was put
} S2Plots;

// Copy; the new plot takes the place of the plot of that name, if there is one.
void s2_plots_put(S2Plots *plots, const char *name, const char *svg);
// For many at a time: appends, whatever their names are; then, once, each name keeps its first
// place and its last plot.
void s2_plots_append(S2Plots *plots, const char *name, size_t name_size, const char *svg,
                     size_t svg_size);
void s2_plots_settle(S2Plots *plots);
void s2_plots_free(S2Plots *plots);

#endif
