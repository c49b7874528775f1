// Private to the kernels: vectors with one number for each of S2_LANES islands, and operations on
// them. The compiler provides plain arithmetic (+ - * / lane by lane). This file provides the other
// operations.
//
// Each lane gets the same bits as in a separate computation. IEEE 754 determines the rounding of
// all operations, masks replace branches, and only `any` combines lanes. `any` may skip a
// computation, but it never changes a result.
#ifndef S2_LANES_H
#define S2_LANES_H

#include "base/vec.h"
#include "dynamics/program/table.h"
#include "linalg/quad.h"

#include <stdbool.h>

// If the table is known at compile time (stock.h), a kernel is a single function without loops.
// All other kernels read the table, as do all kernels under sanitizers, where such a function takes
// minutes to compile.
#ifdef __has_feature // clang
#if __has_feature(address_sanitizer)
#define S2_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define S2_SANITIZED
#endif
#if defined(S2_STOCK) && !defined(S2_SANITIZED)
#define S2_KERNEL S2_INLINE
#else
#define S2_KERNEL static
#endif
// Clang unrolls by itself, and could warn about this pragma.
#if defined(S2_STOCK) && !defined(S2_SANITIZED) && !defined(__clang__)
#define S2_UNROLL _Pragma("GCC unroll 32")
#else
#define S2_UNROLL
#endif

#if S2_LANES == 1
typedef double Real;
typedef uint64_t Mask; // all bits set, or none
typedef double Packed;
typedef uint64_t Bits;

S2_INLINE Real real(double x) {
  return x;
}
#define MASK(condition) (-(Mask)(condition))
S2_INLINE Real select(Mask mask, Real a, Real b) {
  return mask ? a : b;
}
S2_INLINE bool any(Mask mask) {
  return mask != 0;
}
S2_INLINE Real root(Real x) {
  return __builtin_sqrt(x);
}
S2_INLINE Real size(Real x) {
  return __builtin_fabs(x);
}
#else
#include <immintrin.h>
enum { BYTES = 8 * S2_LANES };
typedef double Real __attribute__((vector_size(BYTES)));
typedef int64_t Mask __attribute__((vector_size(BYTES)));
typedef uint64_t Bits __attribute__((vector_size(BYTES)));
#define MASK(condition) ((Mask)(condition))
#if S2_LANES == 4
typedef __m256d Packed;
S2_INLINE Real real(double x) {
  return (Real)_mm256_set1_pd(x);
}
S2_INLINE Real select(Mask mask, Real a, Real b) {
  return (Real)_mm256_blendv_pd((Packed)b, (Packed)a, (Packed)mask);
}
S2_INLINE bool any(Mask mask) {
  return _mm256_movemask_pd((Packed)mask) != 0;
}
S2_INLINE Real root(Real x) {
  return (Real)_mm256_sqrt_pd((Packed)x);
}
#else
typedef __m512d Packed;
S2_INLINE Real real(double x) {
  return (Real)_mm512_set1_pd(x);
}
S2_INLINE Real select(Mask mask, Real a, Real b) {
  return (Real)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)mask), (Packed)b, (Packed)a);
}
S2_INLINE bool any(Mask mask) {
  return _mm512_movepi64_mask((__m512i)mask) != 0;
}
S2_INLINE Real root(Real x) {
  return (Real)_mm512_sqrt_pd((Packed)x);
}
#endif
S2_INLINE Real size(Real x) {
  Bits bits;
  memcpy(&bits, &x, sizeof bits);
  bits &= (uint64_t)INT64_MAX;
  memcpy(&x, &bits, sizeof x);
  return x;
}
#endif

S2_SINCOS_DEFINE(lanes_sincos, Real, Bits)

S2_INLINE Real larger(Real a, Real b) {
  return select(MASK(b > a), b, a);
}
S2_INLINE Real smaller(Real a, Real b) {
  return select(MASK(b < a), b, a);
}
S2_INLINE Real keep_larger(Real most, Real x) { // a NaN in `x` becomes the result
  return select(MASK(x <= most), most, x);
}

#endif
