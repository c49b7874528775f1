#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// printf writes the decimal point of the locale, which a host program may have set. It stands
// before the exponent, so that the search ends there.
static void point_decimal(char *text) {
  for (char *at = text; *at != '\0' && *at != 'e'; at++) {
    if ((*at < '0' || *at > '9') && *at != '-') {
      *at = '.';
    }
  }
}

static bool number_special(char text[S2_NUMBER_SIZE], double value) {
  if (isfinite(value)) {
    return false;
  }
  snprintf(text, S2_NUMBER_SIZE, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  return true;
}

size_t s2_number_printed(char text[S2_NUMBER_SIZE], double value) {
  if (!number_special(text, value)) {
    snprintf(text, S2_NUMBER_SIZE, "%.17g", value);
    point_decimal(text);
  }
  return strlen(text);
}

void s2_number_short(char text[S2_NUMBER_SIZE], double value, int decimals) {
  // Trailing zeros go, and the point behind the last of them; so does the sign of a zero.
  if (number_special(text, value)) {
    return;
  }
  snprintf(text, S2_NUMBER_SIZE, "%.*f", decimals, value);
  point_decimal(text);
  if (strchr(text, '.') != NULL) {
    char *end = text + strlen(text);
    while (end[-1] == '0') {
      end--;
    }
    if (end[-1] == '.') {
      end--;
    }
    *end = '\0';
  }
  if (strcmp(text, "-0") == 0) {
    snprintf(text, S2_NUMBER_SIZE, "0");
  }
}

void s2_number_put(FILE *file, double value) {
  char text[S2_NUMBER_SIZE];
  s2_number_exact(text, value);
  fputs(text, file);
}

double s2_number_read(const char *text, char **end) {
  // The number is read in the locale "C" whatever the host's is.
  locale_t plain =
      newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); // nothing is allocated for this one
  locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
  double value = strtod(text, end);
  if (plain != (locale_t)0) {
    uselocale(before);
    freelocale(plain);
  }
  return value;
}
