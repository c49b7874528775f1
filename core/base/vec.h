// Plane vectors, rotations and poses.
#ifndef S2_VEC_H
#define S2_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct S2Vec2 {
  double x, y;
} S2Vec2;

typedef struct S2Rot {
  double c, s; // cosine and sine
} S2Rot;

typedef struct S2Pose { // maps a point p of the body frame to position + R p
  S2Vec2 position;      // m
  S2Rot rotation;
} S2Pose;

typedef struct S2Box { // axis-aligned
  S2Vec2 lo, hi;
} S2Box;

static inline S2Vec2 s2_vec2(double x, double y) {
  return (S2Vec2){x, y};
}
static inline S2Vec2 s2_add(S2Vec2 a, S2Vec2 b) {
  return (S2Vec2){a.x + b.x, a.y + b.y};
}
static inline S2Vec2 s2_sub(S2Vec2 a, S2Vec2 b) {
  return (S2Vec2){a.x - b.x, a.y - b.y};
}
static inline S2Vec2 s2_neg(S2Vec2 a) {
  return (S2Vec2){-a.x, -a.y};
}
static inline S2Vec2 s2_scale(double k, S2Vec2 a) {
  return (S2Vec2){k * a.x, k * a.y};
}
static inline S2Vec2 s2_add_scaled(S2Vec2 a, double k, S2Vec2 b) {
  return (S2Vec2){a.x + k * b.x, a.y + k * b.y};
}
static inline double s2_dot(S2Vec2 a, S2Vec2 b) {
  return a.x * b.x + a.y * b.y;
}
static inline double s2_cross(S2Vec2 a, S2Vec2 b) {
  return a.x * b.y - a.y * b.x;
}
static inline double s2_length2(S2Vec2 a) {
  return a.x * a.x + a.y * a.y;
}
static inline double s2_length(S2Vec2 a) {
  return sqrt(a.x * a.x + a.y * a.y);
}
static inline S2Vec2 s2_left(S2Vec2 a) {
  return (S2Vec2){-a.y, a.x};
} // turned by +90 degrees
static inline S2Vec2 s2_right(S2Vec2 a) {
  return (S2Vec2){a.y, -a.x};
} // turned by -90 degrees.

// ---- Sine and cosine --------------------------------------------------------------------------

// Computes sine and cosine together, without branches and without the C library. The results have
// the same bits on every processor, with or without fused instructions, whether one number or a
// vector is computed.

// rad: the reduction below is accurate up to this angle. Larger angles go to the C library.
// Neighbouring doubles there are at least 6e-11 apart.
#define S2_SINCOS_MOST 5e5

// Defines `static inline void name(Real x, Real *sine, Real *cosine)` for |x| < S2_SINCOS_MOST,
// within 0.8 units in the last place. `Real` is double or a vector of doubles. `Int` is int64_t or
// a vector of equally many int64_t.
//
// The angle is reduced to x = n pi/2 + (a + b) with |a| <= pi/4. This uses 118 bits of pi/2 in
// three parts (Cody and Waite). Then the minimax polynomials of fdlibm are evaluated (Sun
// Microsystems 1993, k_sin.c and k_cos.c). Their order and signs depend on n mod 4.
// NOLINTBEGIN(bugprone-macro-parentheses): a type in parentheses is not a type
#define S2_SINCOS_DEFINE(name, Real, Int)                                                          \
  static inline void name(Real x, Real *sine, Real *cosine) {                                      \
    const double shift = 6755399441055744.0; /* 1.5 2^52: adding it rounds to the nearest n */     \
    Real shifted = x * 6.36619772367581382433e-01 + shift, n = shifted - shift;                    \
    Int quarter, sine_bits, cosine_bits;                                                           \
    memcpy(&quarter, &shifted, sizeof quarter);                                                    \
    /* The remainder after n quarter turns is a + b, where b is below the last digit of a. */      \
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
    /* Odd quarter turns swap sine and cosine; the second bit of n sets the signs. */              \
    memcpy(&sine_bits, &s, sizeof s);                                                              \
    memcpy(&cosine_bits, &c, sizeof c);                                                            \
    Int swap = (sine_bits ^ cosine_bits) & -(quarter & 1);                                         \
    sine_bits = (sine_bits ^ swap) ^ ((quarter & 2) << 62);                                        \
    cosine_bits = (cosine_bits ^ swap) ^ (((quarter + 1) & 2) << 62);                              \
    memcpy(sine, &sine_bits, sizeof s);                                                            \
    memcpy(cosine, &cosine_bits, sizeof c);                                                        \
  }
// NOLINTEND(bugprone-macro-parentheses)

// Shifting a signed integer into its sign bit is undefined, so the scalar version uses unsigned
// integers.
S2_SINCOS_DEFINE(s2_sincos_near, double, uint64_t)

// Works for any x; the results are NaN if x is not finite.
static inline void s2_sincos(double x, double *sine, double *cosine) {
  if (fabs(x) < S2_SINCOS_MOST) {
    s2_sincos_near(x, sine, cosine);
  } else {
    *sine = sin(x);
    *cosine = cos(x);
  }
}

// ---- Rotations and poses ----------------------------------------------------------------------

static inline S2Rot s2_rot(double angle) {
  S2Rot rot;
  s2_sincos(angle, &rot.s, &rot.c);
  return rot;
}
static inline S2Vec2 s2_rotate(S2Rot r, S2Vec2 p) {
  return (S2Vec2){r.c * p.x - r.s * p.y, r.s * p.x + r.c * p.y};
}
static inline S2Vec2 s2_unrotate(S2Rot r, S2Vec2 p) {
  return (S2Vec2){r.c * p.x + r.s * p.y, -r.s * p.x + r.c * p.y};
}

static inline S2Pose s2_pose(double angle, double x, double y) {
  return (S2Pose){{x, y}, s2_rot(angle)};
}
static inline S2Vec2 s2_pose_point(S2Pose pose, S2Vec2 p) {
  return s2_add(pose.position, s2_rotate(pose.rotation, p));
}
static inline S2Vec2 s2_pose_local(S2Pose pose, S2Vec2 p) {
  return s2_unrotate(pose.rotation, s2_sub(p, pose.position));
}

static inline int s2_box_overlap(S2Box a, S2Box b) {
  return a.lo.x <= b.hi.x && b.lo.x <= a.hi.x && a.lo.y <= b.hi.y && b.lo.y <= a.hi.y;
}

#endif
