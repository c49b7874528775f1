// Four doubles side by side: the storage of one node's three numbers (the fourth stays 0), so that
// a compiler can use whatever vector registers it is allowed. Every operation is element by element
// and nothing is contracted, so the bits do not depend on the width of those registers.
#ifndef S2_QUAD_H
#define S2_QUAD_H

typedef double S2Quad __attribute__((vector_size(32)));

// Marks a function to be compiled twice, the processor choosing at start: a solve is three times as
// fast on AVX2 as with the 16-byte registers every x86-64 has. What such a function calls must be
// S2_INLINE to profit. Not with clang (14 cannot call such functions across files) or under the
// address and thread sanitizers (which do not survive the choosing).
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__AVX2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define S2_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define S2_WIDE
#endif
#define S2_INLINE static inline __attribute__((always_inline))

// Three numbers in memory, where a fourth would be a third more of it. Through pointers: vectors by
// value have no fixed calling convention.
S2_INLINE void s2_quad_load(S2Quad *to, const double *from) {
  *to = (S2Quad){0}; // or gcc 12 fears for it where it becomes two halves
  *to = (S2Quad){from[0], from[1], from[2], 0};
}

S2_INLINE void s2_quad_store(double *to, const S2Quad *from) {
  to[0] = (*from)[0];
  to[1] = (*from)[1];
  to[2] = (*from)[2];
}

#endif
