// Sine and cosine together, without branches and without the C library: the same bits on every
// processor (with fused instructions or without) and for one number or several side by side.
#ifndef S2_SINCOS_H
#define S2_SINCOS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// rad: the reduction below is right up to here. Beyond, numbers lie 6e-11 and more apart, and the C
// library answers.
#define S2_SINCOS_MOST 5e5

// Defines `static inline void name(Real x, Real *sine, Real *cosine)` for |x| < S2_SINCOS_MOST,
// within 0.8 units in the last place; `Real` is double or a vector of them, `Int` as many int64_t.
//
// x = n pi/2 + (a + b), |a| <= pi/4 (118 bits of pi/2 in three parts, Cody and Waite); then the
// minimax polynomials of fdlibm (Sun Microsystems 1993, k_sin.c and k_cos.c), which n mod 4 swaps
// and signs.
#define S2_SINCOS_DEFINE(name, Real, Int)                                                          \
  static inline void name(Real x, Real *sine, Real *cosine) {                                      \
    const double shift = 6755399441055744.0; /* 1.5 2^52: adding it rounds to the nearest n */     \
    Real shifted = x * 6.36619772367581382433e-01 + shift, n = shifted - shift;                    \
    Int quarter, sine_bits, cosine_bits;                                                           \
    memcpy(&quarter, &shifted, sizeof quarter);                                                    \
    /* What is left of x after n quarters of a turn: a, and b beyond its last digit. */            \
    Real r0 = x - n * 1.57079632673412561417e+00;                                                  \
    Real w0 = n * 6.07710050630396597660e-11;                                                      \
    Real r1 = r0 - w0;                                                                             \
    Real w1 = n * 2.02226624879595063154e-21 - ((r0 - r1) - w0);                                   \
    Real a = r1 - w1, b = (r1 - a) - w1;                                                           \
    Real z = a * a, z2 = z * z, v = z * a;                                                         \
    /* sin(a + b) */                                                                               \
    Real p = 8.33333333332248946124e-03 +                                                          \
             z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +                  \
             z * z2 * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);              \
    Real s = a - ((z * (0.5 * b - v * p) - b) - v * -1.66666666666666324348e-01);                  \
    /* cos(a + b) */                                                                               \
    Real q = z * (4.16666666666666019037e-02 +                                                     \
                  z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +            \
             z2 * z2 *                                                                             \
                 (-2.75573143513906633035e-07 +                                                    \
                  z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));             \
    Real half = 0.5 * z, one = 1.0 - half;                                                         \
    Real c = one + (((1.0 - one) - half) + (z * q - a * b));                                       \
    /* Odd quarters swap them; the second bit signs. */                                            \
    memcpy(&sine_bits, &s, sizeof s);                                                              \
    memcpy(&cosine_bits, &c, sizeof c);                                                            \
    Int swap = (sine_bits ^ cosine_bits) & -(quarter & 1);                                         \
    sine_bits = (sine_bits ^ swap) ^ ((quarter & 2) << 62);                                        \
    cosine_bits = (cosine_bits ^ swap) ^ (((quarter + 1) & 2) << 62);                              \
    memcpy(sine, &sine_bits, sizeof s);                                                            \
    memcpy(cosine, &cosine_bits, sizeof c);                                                        \
  }

// Signed shifts into the sign bit are undefined: one number takes unsigned ones.
S2_SINCOS_DEFINE(s2_sincos_near, double, uint64_t)

// Of any x; not a number where x is not finite.
static inline void s2_sincos(double x, double *sine, double *cosine) {
  if (fabs(x) < S2_SINCOS_MOST) {
    s2_sincos_near(x, sine, cosine);
  } else {
    *sine = sin(x);
    *cosine = cos(x);
  }
}

#endif
