#include "peers/report.h"

#include <math.h>
#include <string.h>

bool peer_begins_family(const PeerResult *results, int i) {
  for (int k = 0; k < i; k++) {
    if (strcmp(results[k].of->family, results[i].of->family) == 0) {
      return false;
    }
  }
  return true;
}

// The number, or a dash where there is none.
static void table_number(const char *format, double x) {
  char text[32] = "-";
  if (!isnan(x)) {
    snprintf(text, sizeof text, format, x);
  }
  printf(" %9s", text);
}

void peer_table_head(void) {
  printf("%-11s %6s %-9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "scene", "bodies", "engine",
         "median ms", "worst ms", "sim2d is", "overlap m", "joints m", "energy", "fastest",
         "residual", "unsolved");
}

void peer_table_rows(const PeerResult *result) {
  for (int i = 0; i < result->engines; i++) {
    const PeerFigures *figures = &result->figures[i];
    printf("%-11s %6d %-9s", result->of->name, result->moving, figures->engine->name);
    table_number("%.4f", figures->median);
    table_number("%.4f", figures->worst);
    table_number("%.2fx", i == 0 ? NAN : result->figures[0].median / figures->median);
    table_number("%.1e", figures->overlap);
    table_number("%.1e", figures->joint_error);
    table_number("%+.1e", figures->energy);
    table_number("%.1e", figures->fastest);
    table_number("%.1e", figures->verdict.residual);
    table_number("%.0f", figures->engine->judge == NULL ? NAN : (double)figures->verdict.unsolved);
    printf("\n");
  }
  fflush(stdout);
}

void peer_table_growth(const PeerResult *results, int count) {
  for (int i = 0; i < count; i++) {
    const char *family = results[i].of->family;
    for (int k = 0; k < results[i].engines && peer_begins_family(results, i); k++) {
      double growth = peer_growth(results, count, family, k);
      if (!isnan(growth)) {
        printf("%s: the time of %s grows as N^%.2f\n", family, results[i].figures[k].engine->name,
               growth);
      }
    }
  }
}
