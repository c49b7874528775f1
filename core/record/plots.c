#include "record/plots.h"

#include <string.h>

static char *copy(const char *text, size_t size) {
  char *result = memcpy(s2_memory_take(size + 1), text, size);
  result[size] = '\0';
  return result;
}

void s2_plots_put_bytes(S2Plots *plots, const char *name, size_t name_size, const char *svg,
                        size_t svg_size) {
  S2Plot plot = {copy(name, name_size), copy(svg, svg_size)};
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

void s2_plots_put(S2Plots *plots, const char *name, const char *svg) {
  s2_plots_put_bytes(plots, name, strlen(name), svg, strlen(svg));
}

void s2_plots_free(S2Plots *plots) {
  for (int i = 0; i < plots->list.count; i++) {
    s2_memory_free(plots->list.at[i].name);
    s2_memory_free(plots->list.at[i].svg);
  }
  s2_array_free(plots->list);
  *plots = (S2Plots){0};
}
