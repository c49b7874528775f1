// Rows of linkages: their values and directions at given poses, and their matrix.
#include "dynamics/rattle/linkage.h"
#include "mcp/pivot/schur.h"

#include <stddef.h>

// Limits of the graph of joints, per joint: pairs of joints that share a node, and updates of a
// factorisation. Trees need no updates. Beyond these limits, rattle.c decides which method is best.
enum { PAIRS_MOST = 8, UPDATES_MOST = 256 };

// The directions of the rows of a link: (angle, x, y) of both rows.
S2_INLINE const S2Two *link_side(const S2LinkageRows *rows, const S2LinkageLink *link) {
  return (const S2Two *)rows + link->side;
}

// ---- Measurement -------------------------------------------------------------------------------

// Sets row k along the direction u through the anchor, as measure_offset in joints/measure.c. `w`
// is the arm of the anchor of a from the centre of b.
S2_INLINE void measure_along(S2Vec2 u, S2Vec2 apart, S2Vec2 ra, S2Vec2 w, int k,
                             S2LinkageRows *rows) {
  rows->value[k] = s2_dot(u, apart);
  rows->a.j[0][k] = s2_cross(ra, u);
  rows->a.j[1][k] = u.x;
  rows->a.j[2][k] = u.y;
  rows->b.j[0][k] = -s2_cross(w, u);
  rows->b.j[1][k] = -u.x;
  rows->b.j[2][k] = -u.y;
}

// Computes sines and cosines of all angles. The loop has no branches, so it can be vectorised.
S2_WIDE static void find_turns(int count, const double *angle, double *sine, double *cosine) {
  for (int i = 0; i < count; i++) {
    s2_sincos_near(angle[i], &sine[i], &cosine[i]);
  }
}

void s2_linkage_measure(S2Linkage *linkage, const double *q, S2LinkageRows *rows) {
  double *angle = linkage->angle;
  for (int i = 0; i < linkage->seats; i++) {
    angle[i] = q[3 * i];
  }
  // The vectorised loop is wrong for huge angles, which are rare.
  find_turns(linkage->seats, angle, linkage->sine, linkage->cosine);
  for (int i = 0; i < linkage->seats; i++) {
    if (!(fabs(angle[i]) < S2_SINCOS_MOST)) {
      s2_sincos(angle[i], &linkage->sine[i], &linkage->cosine[i]);
    }
  }
  // The anchors of each joint, as s2_sides_at finds them, and the rows along its directions.
  for (int i = 0; i < linkage->joints; i++, rows++) {
    const S2LinkageJoint *joint = &linkage->joint[i];
    const double *qa = q + 3 * (size_t)joint->a, *qb = q + 3 * (size_t)joint->b;
    S2Rot turn_a = {linkage->cosine[joint->a], linkage->sine[joint->a]};
    S2Rot turn_b = {linkage->cosine[joint->b], linkage->sine[joint->b]};
    S2Vec2 ra = s2_rotate(turn_a, joint->local_a), rb = s2_rotate(turn_b, joint->local_b);
    S2Vec2 apart = {(qa[1] - qb[1]) + (ra.x - rb.x), (qa[2] - qb[2]) + (ra.y - rb.y)};
    S2Vec2 w = s2_add(apart, rb);
    if (joint->slides) {
      measure_along(s2_rotate(turn_b, joint->across), apart, ra, w, 0, rows);
      rows->value[1] = qa[0] - qb[0] - joint->angle;
      for (int c = 0; c < 3; c++) {
        rows->a.j[c][1] = c == 0 ? 1 : 0;
        rows->b.j[c][1] = c == 0 ? -1 : 0;
      }
      continue;
    }
    measure_along(s2_vec2(turn_b.c, turn_b.s), apart, ra, w, 0, rows);
    measure_along(s2_vec2(-turn_b.s, turn_b.c), apart, ra, w, 1, rows);
  }
}

// ---- The matrix --------------------------------------------------------------------------------

// Lists the links of each node, in ascending order of joints. Returns the number of pairs of links
// that share a node.
static int64_t find_links(S2Linkage *linkage) {
  int nodes = linkage->nodes, joints = linkage->joints;
  int32_t *start = linkage->start, before = 0, most = 0;
  for (int i = 0; i < joints; i++) {
    const int32_t seat[2] = {linkage->joint[i].a, linkage->joint[i].b};
    for (int side = 0; side < 2; side++) {
      if (seat[side] < nodes) {
        start[seat[side]]++;
      }
    }
  }
  int64_t pairs = 0;
  for (int i = 0; i < nodes; i++) {
    int32_t links = start[i] - before;
    pairs += (int64_t)links * (links - 1) / 2;
    most = links > most ? links : most;
    before = start[i];
    start[i + 1] += start[i];
  }
  // start[i] is now the end of the links of node i. Fill in the links from the last one.
  for (int i = joints - 1; i >= 0; i--) {
    const int32_t seat[2] = {linkage->joint[i].a, linkage->joint[i].b};
    const size_t offset[2] = {offsetof(S2LinkageRows, a), offsetof(S2LinkageRows, b)};
    for (int side = 1; side >= 0; side--) {
      size_t at = sizeof(S2LinkageRows) * (size_t)i + offset[side];
      if (seat[side] < nodes) {
        linkage->link[--start[seat[side]]] =
            (S2LinkageLink){.joint = i, .side = (int32_t)(at / sizeof(S2Two))};
      }
    }
  }
  linkage->pushed = S2_TAKE(linkage->step->arena, S2LinkageSide, most);
  return pairs;
}

bool s2_linkage_find_pattern(S2Linkage *linkage) {
  S2Arena *arena = linkage->step->arena;
  int nodes = linkage->nodes, joints = linkage->joints, edges = 0;
  int32_t *start = linkage->start = S2_TAKE_ZEROED(arena, int32_t, nodes + 1);
  S2LinkageLink *link = linkage->link = S2_TAKE(arena, S2LinkageLink, 2 * joints);
  int64_t pairs = find_links(linkage);
  if (pairs > (int64_t)PAIRS_MOST * joints) {
    return false;
  }
  // Add an edge for each pair of links on a node, in the order in which fill_matrix visits them.
  int32_t *edge = S2_TAKE(arena, int32_t, 2 * pairs);
  linkage->slot = S2_TAKE(arena, int32_t, pairs);
  for (int i = 0; i < nodes; i++) {
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      for (int32_t q = start[i]; q < p; q++, edges++) {
        edge[2 * edges] = link[p].joint;
        edge[2 * edges + 1] = link[q].joint;
      }
    }
  }
  bool found = s2_pairsparse_init(&linkage->matrix, joints, edges, edge, linkage->slot,
                                  (int64_t)UPDATES_MOST * joints, arena);
  for (int p = 0; p < start[nodes]; p++) {
    link[p].place = linkage->matrix.pattern.place[link[p].joint];
  }
  return found;
}

// Returns the speeds of the two rows `sees` per impulse along the rows `pushed`, whose directions
// are divided by the masses.
S2_INLINE S2PairBlock pair_block(const S2Two *sees, const S2LinkageSide *pushed) {
  S2Two x = sees[0] * pushed->j[0][0], y = sees[0] * pushed->j[0][1];
  x += sees[1] * pushed->j[1][0];
  y += sees[1] * pushed->j[1][1];
  x += sees[2] * pushed->j[2][0];
  y += sees[2] * pushed->j[2][1];
  return (S2PairBlock){{x, y}};
}

S2_INLINE void add_block(S2PairBlock *to, S2Two x, S2Two y) {
  to->column[0] += x;
  to->column[1] += y;
}

// Assembles the sum over all nodes and all pairs of links of each node. `symmetric`: true if both
// sets of rows are the same.
S2_INLINE void fill_matrix(S2Linkage *linkage, const S2LinkageRows *left,
                           const S2LinkageRows *right, bool symmetric) {
  const int32_t *start = linkage->start, *slot = linkage->slot;
  const S2LinkageLink *link = linkage->link;
  S2PairSparse *matrix = &linkage->matrix;
  for (int i = 0; i < linkage->nodes; i++) {
    const double *inverse = linkage->inverse + 3 * (size_t)i;
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      const S2Two *push = link_side(right, &link[p]), *sees = link_side(left, &link[p]);
      S2LinkageSide *pushed = linkage->pushed + (p - start[i]);
      for (int c = 0; c < 3; c++) {
        pushed->j[c] = push[c] * inverse[c];
      }
      // The block of the joint itself, then the blocks of pairs with earlier joints of the node.
      S2PairBlock own = pair_block(sees, pushed);
      add_block(&matrix->diagonal[link[p].place], own.column[0], own.column[1]);
      const S2LinkageSide *other = linkage->pushed;
      for (int32_t q = start[i]; q < p; q++, slot++, other++) {
        bool below = link[p].place > link[q].place;
        S2PairBlock *lower = &matrix->lower[*slot], *upper = &matrix->upper[*slot];
        S2PairBlock k = pair_block(sees, other);
        add_block(below ? lower : upper, k.column[0], k.column[1]);
        if (symmetric) {
          S2Two first = {k.column[0][0], k.column[1][0]}, second = {k.column[0][1], k.column[1][1]};
          add_block(below ? upper : lower, first, second);
        } else {
          k = pair_block(link_side(left, &link[q]), pushed);
          add_block(below ? upper : lower, k.column[0], k.column[1]);
        }
      }
    }
  }
}

bool s2_linkage_factor(S2Linkage *linkage, const S2LinkageRows *left, const S2LinkageRows *right,
                       double *x) {
  s2_pairsparse_clear(&linkage->matrix);
  if (left == right) {
    fill_matrix(linkage, left, left, true);
  } else {
    fill_matrix(linkage, left, right, false);
  }
  // If elimination leaves almost nothing of a row's diagonal, the row depends on other rows.
  return s2_pairsparse_factor(&linkage->matrix, s2_schur_redundant(false), x);
}

// ---- Velocities --------------------------------------------------------------------------------

// Sums over the links of each node. A loop over joints would have to wait for the sums that the
// last joint has stored.
void s2_linkage_velocity(const S2Linkage *linkage, const S2LinkageRows *rows, const double *x,
                         double *v) {
  const int32_t *start = linkage->start;
  const double *inverse = linkage->inverse, *rhs = linkage->rhs;
  for (int i = 0; i < linkage->nodes; i++, v += 3, inverse += 3, rhs += 3) {
    S2Two sum[3] = {{rhs[0], 0}, {rhs[1], 0}, {rhs[2], 0}};
    for (int32_t p = start[i]; p < start[i + 1]; p++) {
      const S2Two *side = link_side(rows, &linkage->link[p]);
      const double *push = x + 2 * (size_t)linkage->link[p].joint;
      S2Two both = {push[0], push[1]};
      for (int c = 0; c < 3; c++) {
        sum[c] += side[c] * both;
      }
    }
    for (int c = 0; c < 3; c++) {
      v[c] = (sum[c][0] + sum[c][1]) * inverse[c];
    }
  }
}

void s2_linkage_speeds(const S2Linkage *linkage, const S2LinkageRows *rows, const double *v,
                       double *speed) {
  for (int i = 0; i < linkage->joints; i++, rows++, speed += 2) {
    const double *a = v + 3 * (size_t)linkage->joint[i].a;
    const double *b = v + 3 * (size_t)linkage->joint[i].b;
    S2Two sum = {0, 0};
    for (int c = 0; c < 3; c++) {
      sum += rows->a.j[c] * a[c] + rows->b.j[c] * b[c];
    }
    speed[0] = sum[0];
    speed[1] = sum[1];
  }
}
