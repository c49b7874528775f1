// Vectors of four doubles. They store one node's three numbers (the fourth stays 0), so that a
// compiler can use any available vector registers. Every operation is elementwise and nothing is
// contracted, so the bits do not depend on the width of those registers.
#ifndef S2_QUAD_H
#define S2_QUAD_H

typedef double S2Quad __attribute__((vector_size(32)));

// Marks a function that is compiled twice, with and without AVX2. The version is selected at
// program start. A solve is three times as fast with AVX2 as with the 16-byte registers of every
// x86-64. Functions called by a marked function must be S2_INLINE to benefit. The mark has no
// effect with clang, because clang 14 cannot call such functions across files. It also has no
// effect under the address and thread sanitizers, which do not support the selection.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__AVX2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define S2_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define S2_WIDE
#endif
#define S2_INLINE static inline __attribute__((always_inline))

// Stores only three numbers, because a fourth would need a third more memory. The arguments are
// pointers, because there is no fixed calling convention for vectors by value.
S2_INLINE void s2_quad_load(S2Quad *to, const double *from) {
  *to = (S2Quad){0}; // avoids a warning of gcc 12 where a quad is split into halves
  *to = (S2Quad){from[0], from[1], from[2], 0};
}

S2_INLINE void s2_quad_store(double *to, const S2Quad *from) {
  to[0] = (*from)[0];
  to[1] = (*from)[1];
  to[2] = (*from)[2];
}

#endif
