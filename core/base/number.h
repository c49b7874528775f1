// Compares the bits of numbers, and converts numbers to text and back. The text has a decimal point
// even if the host program has set a locale with a comma, because files must be readable elsewhere.
#ifndef S2_NUMBER_H
#define S2_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Returns true if the numbers are equal bit by bit. Unlike ==, this treats a NaN as equal to
// itself, and 0 as different from -0.
static inline bool s2_same_bits(const double *a, const double *b, size_t count) {
  return memcmp(a, b, count * sizeof *a) == 0; // NOLINT(bugprone-suspicious-memory-comparison)
}

// These functions write a number to `text`. A NaN is always written as "nan", never as "-nan".
enum { S2_NUMBER_SIZE = 340 }; // bytes; %.2f of the largest double has 313 characters.
// Writes at most 15 digits if they read back to the same number. Otherwise it writes 17 digits,
// which always do. Returns the length.
size_t s2_number_exact(char text[S2_NUMBER_SIZE], double value);
size_t s2_number_printed(char text[S2_NUMBER_SIZE], double value);           // always 17 digits, by
                                                                             // printf
void s2_number_short(char text[S2_NUMBER_SIZE], double value, int decimals); // without trailing
                                                                             // zeros
void s2_number_put(FILE *file, double value); // writes like s2_number_exact

// Like strtod.
double s2_number_read(const char *text, char **end);

#endif
