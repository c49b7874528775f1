#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// printf writes the decimal point of the locale, which a host program may have set. The point
// precedes the exponent, so the search ends there.
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
  if (number_special(text, value)) {
    return;
  }
  snprintf(text, S2_NUMBER_SIZE, "%.*f", decimals, value);
  point_decimal(text);
  // Remove trailing zeros, and the point if no digits follow it.
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

// ---- Digits -----------------------------------------------------------------------------------

// Writes numbers as text that reads back to the same number. Uses 15 digits if they are enough, as
// for 0.1, and otherwise the 17 digits of printf("%.17g"). Tables over time hold millions of
// numbers, and printf takes ten times as long. A number m 2^e is multiplied by a power of ten, so
// that 17 digits are before the point. That power is known to 128 bits. If these bits do not
// determine the rounding, printf does the conversion.

enum {
  DIGITS = 17,
  APART = 28,   // neighbouring far powers differ by the factor 10^APART
  LOWEST = -12, // the first far power is 10^(LOWEST APART)
  BIAS = 1024,  // keeps the shifted values positive
  DOUBT = 32,   // in units of 2^-64; larger than the error of a scaled number
};
#define TEN_16 UINT64_C(10000000000000000)

// The number (high 2^64 + low) 2^exponent. The highest bit of `high` is set.
typedef struct Power {
  uint64_t high, low;
  int exponent;
} Power;

static const Power near_powers[APART] = {
    {0x8000000000000000, 0x0000000000000000, -127}, {0xa000000000000000, 0x0000000000000000, -124},
    {0xc800000000000000, 0x0000000000000000, -121}, {0xfa00000000000000, 0x0000000000000000, -118},
    {0x9c40000000000000, 0x0000000000000000, -114}, {0xc350000000000000, 0x0000000000000000, -111},
    {0xf424000000000000, 0x0000000000000000, -108}, {0x9896800000000000, 0x0000000000000000, -104},
    {0xbebc200000000000, 0x0000000000000000, -101}, {0xee6b280000000000, 0x0000000000000000, -98},
    {0x9502f90000000000, 0x0000000000000000, -94},  {0xba43b74000000000, 0x0000000000000000, -91},
    {0xe8d4a51000000000, 0x0000000000000000, -88},  {0x9184e72a00000000, 0x0000000000000000, -84},
    {0xb5e620f480000000, 0x0000000000000000, -81},  {0xe35fa931a0000000, 0x0000000000000000, -78},
    {0x8e1bc9bf04000000, 0x0000000000000000, -74},  {0xb1a2bc2ec5000000, 0x0000000000000000, -71},
    {0xde0b6b3a76400000, 0x0000000000000000, -68},  {0x8ac7230489e80000, 0x0000000000000000, -64},
    {0xad78ebc5ac620000, 0x0000000000000000, -61},  {0xd8d726b7177a8000, 0x0000000000000000, -58},
    {0x878678326eac9000, 0x0000000000000000, -54},  {0xa968163f0a57b400, 0x0000000000000000, -51},
    {0xd3c21bcecceda100, 0x0000000000000000, -48},  {0x84595161401484a0, 0x0000000000000000, -44},
    {0xa56fa5b99019a5c8, 0x0000000000000000, -41},  {0xcecb8f27f4200f3a, 0x0000000000000000, -38},
};

static const Power far_powers[] = {
    {0xe3e27a444d8d98b7, 0xfd1b1b2308169b25, -1244},
    {0xe61acf033d1a45df, 0x6fb92487298e33be, -1151},
    {0xe858ad248f5c22c9, 0xd1b3400f8f9cff69, -1058},
    {0xea9c227723ee8bcb, 0x465e15a979c1cadc, -965},
    {0xece53cec4a314ebd, 0xa4f8bf5635246428, -872},
    {0xef340a98172aace4, 0x86fb897116c87c35, -779},
    {0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac2, -686},
    {0xf3e2f893dec3f126, 0x5a89dba3c3efccfb, -593},
    {0xf64335bcf065d37d, 0x4d4617b5ff4a16d6, -500},
    {0xf8a95fcf88747d94, 0x75a44c6397ce912a, -407},
    {0xfb158592be068d2e, 0xeed6e2f0f0d56713, -314},
    {0xfd87b5f28300ca0d, 0x8bca9d6e188853fc, -221},
    {0x8000000000000000, 0x0000000000000000, -127},
    {0x813f3978f8940984, 0x4000000000000000, -34},
    {0x82818f1281ed449f, 0xbff8f10e7a8921a4, 59},
    {0x83c7088e1aab65db, 0x792667c6da79e0fa, 152},
    {0x850fadc09923329e, 0x03e2cf6bc604ddb0, 245},
    {0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2, 338},
    {0x87aa9aff79042286, 0x90fb44d2f05d0843, 431},
    {0x88fcf317f22241e2, 0x441fece3bdf81f03, 524},
    {0x8a5296ffe33cc92f, 0x82bd6b70d99aaa70, 617},
    {0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e, 710},
    {0x8d07e33455637eb2, 0xdb0b487b6423e1e8, 803},
    {0x8e679c2f5e44ff8f, 0x570f09eaa7ea7648, 896},
    {0x8fcac257558ee4e6, 0x213a4f0aa5e8a7b2, 989},
};

__extension__ typedef unsigned __int128 Product;

static uint64_t number_upper(Product product) {
  return (uint64_t)(product >> 64);
}

// Returns 10^power. The last two bits are uncertain.
static Power power_of_ten(int power) {
  int far = (power + APART * -LOWEST) / APART, near = power - APART * (far + LOWEST);
  const Power *a = &near_powers[near], *b = &far_powers[far];
  Product high = (Product)a->high * b->high;
  Product middle = (Product)number_upper((Product)a->low * b->low) +
                   (uint64_t)((Product)a->high * b->low) + (uint64_t)((Product)a->low * b->high);
  high += number_upper(middle) + number_upper((Product)a->high * b->low) +
          (Product)number_upper((Product)a->low * b->high);
  int exponent = a->exponent + b->exponent + 128;
  uint64_t low = (uint64_t)high;
  if (number_upper(high) >> 63 == 0) {
    return (Power){number_upper(high) << 1 | low >> 63, low << 1 | ((uint64_t)middle >> 63),
                   exponent - 1};
  }
  return (Power){number_upper(high), low, exponent};
}

// the number whole + fraction / 2^64
typedef struct Scaled {
  uint64_t whole, fraction;
} Scaled;

// Computes mantissa 2^exponent 10^power. The highest bit of the mantissa must be set. The result is
// between 2^49 and 2^61.
static Scaled number_scale(uint64_t mantissa, int exponent, int power) {
  Power ten = power_of_ten(power);
  Product high = (Product)mantissa * ten.high + number_upper((Product)mantissa * ten.low);
  int shift = -(exponent + ten.exponent) - 128;
  return (Scaled){number_upper(high) >> shift,
                  number_upper(high) << (64 - shift) | (uint64_t)high >> shift};
}

// Computes the digits of a finite positive number and the power of ten of the first digit. Returns
// false if 128 bits do not determine the rounding.
static bool find_digits(double value, uint64_t *digits, int *power) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int exponent = (int)(bits >> 52);
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  mantissa |= exponent > 0 ? UINT64_C(1) << 52 : 0;
  exponent += exponent > 0 ? 0 : 1;
  int zeros = __builtin_clzll(mantissa);
  mantissa <<= zeros;
  exponent -= 1075 + zeros;
  // 78913 / 2^18 is close enough to log10(2). The first digit may still be one place higher.
  *power = (((exponent + 63) * 78913 + (BIAS << 18)) >> 18) - BIAS;
  Scaled number = number_scale(mantissa, exponent, DIGITS - 1 - *power);
  if (number.whole >= 10 * TEN_16) {
    *power += 1;
    number.fraction = number.whole % 10 * (UINT64_MAX / 10) + number.fraction / 10;
    number.whole /= 10;
  }
  *digits = number.whole + (number.fraction >> 63);
  if (*digits == 10 * TEN_16) {
    *power += 1;
    *digits = TEN_16;
  }
  uint64_t past_half = number.fraction - (UINT64_C(1) << 63) + DOUBT;
  return past_half > 2 * DOUBT;
}

// These pairs of digits can be computed in parallel.
static void write_four(char *text, uint32_t number) {
  static const char pairs[] =
      "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
      "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
      "8081828384858687888990919293949596979899";
  memcpy(text, pairs + 2 * (number / 100), 2);
  memcpy(text + 2, pairs + 2 * (number % 100), 2);
}

static void write_digits(char text[DIGITS], uint64_t digits) {
  uint32_t first = (uint32_t)(digits / 100000000), last = (uint32_t)(digits % 100000000);
  text[0] = (char)('0' + first / 100000000);
  first %= 100000000;
  write_four(text + 1, first / 10000);
  write_four(text + 5, first % 10000);
  write_four(text + 9, last / 10000);
  write_four(text + 13, last % 10000);
}

// Writes a number without an exponent, for example 0.0012 or 1200.
static size_t write_plain(char *text, const char *digits, int count, int first) {
  char *at = text;
  if (first < 0) {
    *at++ = '0';
    *at++ = '.';
    for (int i = -1; i > first; i--) {
      *at++ = '0';
    }
  }
  for (int i = 0; i < count || i <= first; i++) {
    if (i == first + 1 && i > 0) {
      *at++ = '.';
    }
    *at++ = (char)(i < count ? digits[i] : '0');
  }
  return (size_t)(at - text);
}

static size_t write_scientific(char *text, const char *digits, int count, int first) {
  char *at = text;
  for (int i = 0; i < count; i++) {
    if (i == 1) {
      *at++ = '.';
    }
    *at++ = digits[i];
  }
  unsigned size = (unsigned)(first < 0 ? -first : first);
  *at++ = 'e';
  *at++ = (char)(first < 0 ? '-' : '+');
  if (size >= 100) {
    *at++ = (char)('0' + size / 100);
  }
  *at++ = (char)('0' + size / 10 % 10);
  *at++ = (char)('0' + size % 10);
  return (size_t)(at - text);
}

// Integers of 15 digits and these powers of ten are exact doubles. So the quotient is rounded only
// once, exactly as when the text is read.
static void prefer_few_digits(double value, uint64_t *digits, int *first) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  enum { LARGEST = sizeof tens / sizeof *tens - 1, FEW = 15, CUT = 100 }; // CUT removes 2 digits
  // Round to 15 digits. Trailing zeros reduce the power of ten.
  uint64_t few = (*digits + CUT / 2) / CUT, shortest = few;
  int power = *first - (FEW - 1);
  while (power < -LARGEST && shortest % 10 == 0) {
    shortest /= 10;
    power++;
  }
  if (power < -LARGEST || power > 0) {
    return;
  }
  // Both operands are exact, so reading the text returns this value.
  double read = (double)shortest / tens[-power];
  if (read == value) {
    bool carried = few * CUT == 10 * TEN_16;
    *digits = carried ? TEN_16 : few * CUT;
    *first += carried;
  }
}

size_t s2_number_exact(char text[S2_NUMBER_SIZE], double value) {
  char digits[DIGITS], *at = text;
  uint64_t number = 0;
  int first = 0, count = DIGITS;
  if (value == 0) {
    bool minus = signbit(value) != 0;
    memcpy(text, minus ? "-0" : "0", minus ? 3 : 2);
    return minus ? 2 : 1;
  }
  if (!isfinite(value) || !find_digits(fabs(value), &number, &first)) {
    return s2_number_printed(text, value);
  }
  // Use 15 digits if they suffice, without trailing zeros.
  prefer_few_digits(fabs(value), &number, &first);
  write_digits(digits, number);
  while (digits[count - 1] == '0') {
    count--;
  }
  if (value < 0) {
    *at++ = '-';
  }
  // Use an exponent for very small and very large numbers, as %g does.
  at += (first < -4 || first >= DIGITS ? write_scientific : write_plain)(at, digits, count, first);
  *at = '\0';
  return (size_t)(at - text);
}

void s2_number_put(FILE *file, double value) {
  char text[S2_NUMBER_SIZE];
  s2_number_exact(text, value);
  fputs(text, file);
}

double s2_number_read(const char *text, char **end) {
  locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); // the C locale needs no memory
                                                                 // allocation
  locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
  double value = strtod(text, end);
  if (plain != (locale_t)0) {
    uselocale(before);
    freelocale(plain);
  }
  return value;
}
