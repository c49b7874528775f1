#include "shape/outline.h"
#include "shape/shape.h"

#include <math.h>
#include <stdbool.h>

// A hull that is thinner than this fraction of its length is a line.
static const double THIN = 1e-9;

static bool hull_precedes(S2Vec2 p, S2Vec2 q) {
  return p.x < q.x || (p.x == q.x && p.y < q.y);
}

static void hull_swap(S2Vec2 *p, S2Vec2 *q) {
  S2Vec2 kept = *p;
  *p = *q;
  *q = kept;
}

// Use heap sort, because it needs neither recursion nor memory. The C library's qsort may allocate.
static void hull_sift(S2Vec2 *points, int root, int count, bool ascending) {
  while (2 * root + 1 < count) {
    int child = 2 * root + 1;
    if (child + 1 < count && hull_precedes(points[child], points[child + 1]) == ascending) {
      child += 1;
    }
    if (hull_precedes(points[root], points[child]) != ascending) {
      return;
    }
    hull_swap(&points[root], &points[child]);
    root = child;
  }
}

static void hull_sort(S2Vec2 *points, int count, bool ascending) {
  for (int root = count / 2 - 1; root >= 0; root--) {
    hull_sift(points, root, count, ascending);
  }
  for (int end = count - 1; end > 0; end--) {
    hull_swap(&points[0], &points[end]);
    hull_sift(points, 0, end, ascending);
  }
}

static double hull_turn(S2Vec2 p, S2Vec2 q, S2Vec2 r) {
  return s2_cross(s2_sub(q, p), s2_sub(r, p));
}

// Adds the sorted points [from, count) to the hull in points [0, size). Swaps points inside the
// hull to positions after it. Keeps at least `base` hull points. Returns the new size.
static int hull_scan(S2Vec2 *points, int size, int base, int from, int count) {
  for (int i = from; i < count; i++) {
    while (size > base && hull_turn(points[size - 2], points[size - 1], points[i]) <= 0) {
      size -= 1;
    }
    hull_swap(&points[size], &points[i]);
    size += 1;
  }
  return size;
}

// Monotone chain (A. M. Andrew, 1979), in place.
int s2_hull(const S2Vec2 *points, int count, S2Vec2 *hull) {
  int distinct = 0;
  for (int i = 0; i < count; i++) {
    hull[i] = points[i];
  }
  // Sort the points, and remove duplicates.
  hull_sort(hull, count, true);
  for (int i = 0; i < count; i++) {
    if (distinct == 0 || hull_precedes(hull[distinct - 1], hull[i])) {
      hull[distinct++] = hull[i];
    }
  }
  if (distinct < 3) {
    return distinct;
  }
  // Build the lower chain from left to right, then the upper chain back over the remaining points.
  int lower = hull_scan(hull, 1, 1, 1, distinct);
  hull_sort(hull + lower, distinct - lower, false);
  int size = hull_scan(hull, lower, lower, lower, distinct);
  while (size > lower && hull_turn(hull[size - 2], hull[size - 1], hull[0]) <= 0) {
    size -= 1;
  }
  // If the thickness of the hull is only a rounding error, use the segment between its ends.
  S2Vec2 left = hull[0];
  S2Vec2 right = hull[lower - 1];
  size = s2_outline_straighten(hull, size);
  double thickness = 0;
  S2Vec2 along = s2_sub(right, left);
  for (int i = 0; i < size; i++) {
    thickness = fmax(thickness, fabs(s2_cross(along, s2_sub(hull[i], left))));
  }
  if (size < 3 || thickness <= THIN * s2_length2(along)) {
    hull[0] = left;
    hull[1] = right;
    return 2;
  }
  return size;
}
