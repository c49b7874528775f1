#include "record/draw/plots.h"

#include <stdlib.h>
#include <string.h>

static char *plot_copy(const char *text, size_t size) {
  char *result = memcpy(s2_memory_take(size + 1), text, size);
  result[size] = '\0';
  return result;
}

void s2_plots_put(S2Plots *plots, const char *name, const char *svg) {
  S2Plot plot = {plot_copy(name, strlen(name)), plot_copy(svg, strlen(svg))};
  plots->changes++;
  for (int i = 0; i < plots->list.count; i++) {
    S2Plot *before = &plots->list.at[i];
    if (strcmp(before->name, plot.name) == 0) {
      s2_memory_free(before->name);
      s2_memory_free(before->svg);
      *before = plot;
      return;
    }
  }
  *s2_array_append(plots->list) = plot;
}

void s2_plots_append(S2Plots *plots, const char *name, size_t name_size, const char *svg,
                     size_t svg_size) {
  *s2_array_append(plots->list) = (S2Plot){plot_copy(name, name_size), plot_copy(svg, svg_size)};
  plots->changes++;
}

// Orders plots by name, and plots with the same name by time.
static int plot_by_name(const void *a, const void *b) {
  const S2Plot *x = *(const S2Plot *const *)a, *y = *(const S2Plot *const *)b;
  int order = strcmp(x->name, y->name);
  return order != 0 ? order : (x > y) - (x < y);
}

void s2_plots_settle(S2Plots *plots) {
  int count = plots->list.count;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers
  S2Plot **sorted = s2_memory_take(((size_t)count + 1) * sizeof *sorted);
  // Sort by name, and plots with the same name by time.
  for (int i = 0; i < count; i++) {
    sorted[i] = &plots->list.at[i];
  }
  qsort(sorted, (size_t)count, sizeof *sorted, plot_by_name); // NOLINT(bugprone-sizeof-expression)
  // Move the last drawing of each name to the first plot of that name.
  for (int first = 0, i = 1; i < count; i++) {
    if (strcmp(sorted[first]->name, sorted[i]->name) != 0) {
      first = i;
      continue;
    }
    s2_memory_free(sorted[first]->svg);
    sorted[first]->svg = sorted[i]->svg;
    sorted[i]->svg = NULL; // marks the plot for removal
  }
  s2_memory_free(sorted);
  // Remove the other plots and keep the order.
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (plots->list.at[i].svg != NULL) {
      plots->list.at[kept++] = plots->list.at[i];
    } else {
      s2_memory_free(plots->list.at[i].name);
    }
  }
  plots->list.count = kept;
}

void s2_plots_free(S2Plots *plots) {
  for (int i = 0; i < plots->list.count; i++) {
    s2_memory_free(plots->list.at[i].name);
    s2_memory_free(plots->list.at[i].svg);
  }
  s2_array_free(plots->list);
  *plots = (S2Plots){0};
}
