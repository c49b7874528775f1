#include "mcp/cone/ncp_space.h"

#include <math.h>

enum { ROTATION_SIZE = 2, QUATERNION_SIZE = 4, QUATERNION_DIMENSION = 3 };

// Iterates over the parts of x in the order in which they are stored.
typedef struct Walk {
  int at, tangent; // index of the first number and of the first tangent coordinate of the part
  int size;        // size of the part: 1, ROTATION_SIZE or QUATERNION_SIZE
  int rotation, quaternion; // numbers of rotations and quaternions visited so far
} Walk;

static bool space_next_factor(const S2NcpSpace *m, Walk *walk) {
  walk->at += walk->size;
  walk->tangent += walk->size == QUATERNION_SIZE ? QUATERNION_DIMENSION : walk->size > 0;
  walk->size = 1;
  if (walk->rotation < m->rotations && m->rotation[walk->rotation] == walk->at) {
    walk->size = ROTATION_SIZE;
    walk->rotation += 1;
  } else if (walk->quaternion < m->quaternions && m->quaternion[walk->quaternion] == walk->at) {
    walk->size = QUATERNION_SIZE;
    walk->quaternion += 1;
  }
  return walk->at < m->size;
}

int s2_ncp_space_dimension(const S2NcpSpace *m) {
  return m->size - m->rotations - m->quaternions;
}

bool s2_ncp_space_valid(const S2NcpSpace *m) {
  Walk walk = {0};
  if (m->size < 0 || m->rotations < 0 || m->quaternions < 0) {
    return false;
  }
  while (space_next_factor(m, &walk)) {
  }
  return walk.at == m->size && walk.rotation == m->rotations && walk.quaternion == m->quaternions;
}

void s2_ncp_space_origin(const S2NcpSpace *m, double *x) {
  for (int i = 0; i < m->size; ++i) {
    x[i] = 0;
  }
  for (int i = 0; i < m->rotations; ++i) {
    x[m->rotation[i]] = 1;
  }
  for (int i = 0; i < m->quaternions; ++i) {
    x[m->quaternion[i]] = 1;
  }
}

// Scales v to length 1. Divides by the largest number first, so that squares neither overflow nor
// underflow. Returns false if the length is 0. NaN propagates.
static bool space_normalise(double *v, int size) {
  double largest = 0, sum = 0;
  for (int k = 0; k < size; ++k) {
    largest = fabs(v[k]) <= largest ? largest : fabs(v[k]);
  }
  if (largest == 0) {
    return false;
  }
  for (int k = 0; k < size; ++k) {
    v[k] /= largest;
    sum += v[k] * v[k];
  }
  for (int k = 0; k < size; ++k) {
    v[k] /= sqrt(sum);
  }
  return true;
}

int s2_ncp_space_normalise(const S2NcpSpace *m, double *x) {
  for (Walk walk = {0}; space_next_factor(m, &walk);) {
    if (walk.size > 1 && !space_normalise(x + walk.at, walk.size)) {
      return walk.at;
    }
  }
  return -1;
}

// p = q r
static void space_multiply(const double *q, const double *r, double *p) {
  double w = q[0] * r[0] - q[1] * r[1] - q[2] * r[2] - q[3] * r[3];
  double x = q[0] * r[1] + q[1] * r[0] + q[2] * r[3] - q[3] * r[2];
  double y = q[0] * r[2] - q[1] * r[3] + q[2] * r[0] + q[3] * r[1];
  double z = q[0] * r[3] + q[1] * r[2] - q[2] * r[1] + q[3] * r[0];
  p[0] = w;
  p[1] = x;
  p[2] = y;
  p[3] = z;
}

static void move_quaternion(const double *q, const double *d, double step, double *moved) {
  // Compute the exponential of half the rotation vector.
  double half[3] = {d[0] * step / 2, d[1] * step / 2, d[2] * step / 2};
  double angle = hypot(hypot(half[0], half[1]), half[2]);
  double ratio = angle > 0 ? sin(angle) / angle : 1;
  double turn[QUATERNION_SIZE] = {cos(angle), ratio * half[0], ratio * half[1], ratio * half[2]};
  space_multiply(q, turn, moved);
}

void s2_ncp_space_move(const S2NcpSpace *m, const double *x, const double *d, double step,
                       double *moved) {
  for (Walk walk = {0}; space_next_factor(m, &walk);) {
    const double *from = x + walk.at, *along = d + walk.tangent;
    double *to = moved + walk.at;
    // The result is q exp(d / 2), a rotation in the plane, or a sum.
    if (walk.size == QUATERNION_SIZE) {
      move_quaternion(from, along, step, to);
    } else if (walk.size == ROTATION_SIZE) {
      double c = cos(step * along[0]), s = sin(step * along[0]);
      double cosine = from[0] * c - from[1] * s, sine = from[0] * s + from[1] * c;
      to[0] = cosine;
      to[1] = sine;
    } else {
      to[0] = from[0] + step * along[0];
    }
    if (walk.size > 1) {
      space_normalise(to, walk.size); // keep rounding errors from accumulating over many moves
    }
  }
}

// Computes column k of dq / dd, which is q times half the unit quaternion of axis k.
static void quaternion_column(const double *q, int k, double *column) {
  double axis[QUATERNION_SIZE] = {0};
  axis[k + 1] = 0.5;
  space_multiply(q, axis, column);
}

void s2_ncp_space_pull(const S2NcpSpace *m, const double *x, const double *row, double *tangent) {
  for (Walk walk = {0}; space_next_factor(m, &walk);) {
    const double *at = x + walk.at, *from = row + walk.at;
    double *to = tangent + walk.tangent, column[QUATERNION_SIZE];
    if (walk.size == QUATERNION_SIZE) {
      // Multiply the row by the three columns of dq / dd.
      for (int k = 0; k < QUATERNION_DIMENSION; ++k) {
        quaternion_column(at, k, column);
        to[k] =
            from[0] * column[0] + from[1] * column[1] + from[2] * column[2] + from[3] * column[3];
      }
    } else if (walk.size == ROTATION_SIZE) {
      to[0] = from[1] * at[0] - from[0] * at[1];
    } else {
      to[0] = from[0];
    }
  }
}

void s2_ncp_space_push(const S2NcpSpace *m, const double *x, const double *d, double *ambient) {
  for (Walk walk = {0}; space_next_factor(m, &walk);) {
    const double *at = x + walk.at, *from = d + walk.tangent;
    double *to = ambient + walk.at, turn[QUATERNION_SIZE];
    if (walk.size == QUATERNION_SIZE) {
      turn[0] = 0;
      for (int k = 0; k < QUATERNION_DIMENSION; ++k) {
        turn[k + 1] = from[k] / 2;
      }
      space_multiply(at, turn, to);
    } else if (walk.size == ROTATION_SIZE) {
      to[0] = -from[0] * at[1];
      to[1] = from[0] * at[0];
    } else {
      to[0] = from[0];
    }
  }
}

void s2_ncp_space_magnitude(const S2NcpSpace *m, const double *x, double *magnitude) {
  for (Walk walk = {0}; space_next_factor(m, &walk);) {
    int dimensions = walk.size == QUATERNION_SIZE ? QUATERNION_DIMENSION : 1;
    for (int k = 0; k < dimensions; ++k) {
      magnitude[walk.tangent + k] = walk.size == 1 ? fabs(x[walk.at]) : 1;
    }
  }
}
