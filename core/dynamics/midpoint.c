// The nonlinear step of islands that only joints act on: the implicit midpoint rule with the joints
// exact at its end, solved by Newton's method.
//
//     M (v+ - v) = h f + J((q + q+)/2)' l,    g(q+) = 0,    q+ = q + h (v + v+)/2
//
// Order 2. A rotation by D moves an arm by 2 sin(D/2) along its derivative at the middle: with the
// angles' columns of J times sin(D/2)/(D/2) the joints do no work, and energy is exact. Newton's
// matrix holds the second derivatives of the joints' errors. Rigid hinges that nothing drives or
// limits; an island with other joints takes the ordinary step, and so does one with contacts.
#include "dynamics/notes.h"
#include "linalg/dense.h"

#include <string.h>

// What of a joint is equations of this rule: the common point of a rigid hinge that nothing drives
// or limits, in world axes, g = p_a - p_b. (S2JointKind has its rows in b's frame, products of
// turns of both bodies, of which the chord is no multiple of the derivative.)
static bool is_known(const S2Joint *joint) {
  const S2JointWeights *give = &joint->compliance;
  return joint->type == S2_HINGE && !joint->has_motor && joint->friction == 0 && give->size == 0 &&
         give->linear == 0 && joint->limit_lo == -INFINITY && joint->limit_hi == INFINITY;
}

enum { EQUATIONS = 2 };

// Its rows of the problem, and their errors in `value`.
static void equations(const S2Joint *joint, const double *q, S2JointRow rows[EQUATIONS]) {
  const int32_t slot[2] = {joint->a, joint->b};
  S2Vec2 arm[2] = {{0, 0}, {0, 0}}, apart = {0, 0};
  const S2Vec2 local[2] = {joint->local_a, joint->local_b};
  for (int side = 0; side < 2; side++) {
    double sign = side == 0 ? 1 : -1;
    S2Vec2 centre = {0, 0};
    arm[side] = local[side];
    if (slot[side] != S2_NONE) {
      const double *pose = q + 3 * slot[side];
      centre = s2_vec2(pose[1], pose[2]);
      arm[side] = s2_rotate(s2_rot(pose[0]), local[side]);
    }
    apart = s2_add(apart, s2_scale(sign, centre));
  }
  apart = s2_add(apart, s2_sub(arm[0], arm[1])); // so that it keeps its digits far from the origin
  rows[0] = (S2JointRow){
      .value = apart.x,
      .ja = {-arm[0].y, 1, 0},
      .jb = {arm[1].y, -1, 0},
  };
  rows[1] = (S2JointRow){
      .value = apart.y,
      .ja = {arm[0].x, 0, 1},
      .jb = {-arm[1].x, 0, -1},
  };
}

// sum l_i Hess(g_i) on the two angles: ja[0] = (-r_y, r_x), its derivative is -r, for b of other
// sign.
static void hessian(const S2JointRow rows[EQUATIONS], const double *lambda, double *on_a,
                    double *on_b) {
  *on_a = -(lambda[0] * rows[1].ja[0] - lambda[1] * rows[0].ja[0]);
  *on_b = -(lambda[0] * rows[1].jb[0] - lambda[1] * rows[0].jb[0]);
}

typedef struct Midpoint {
  S2Step *step;
  const S2Island *island;
  int nodes, rows;
  double *v0, *v; // 3 a node: before and after
  double *lambda; // 1 a joint row
  S2Dense matrix;
  double *right;
} Midpoint;

// q1 of the island's bodies := q0 + part h (v0 + v)/2
static void move(const Midpoint *m, double part) {
  S2Step *step = m->step;
  for (int i = 0; i < 3 * m->nodes; i++) {
    int32_t at = 3 * m->island->node[i / 3] + i % 3;
    step->q1[at] = step->q0[at] + part * step->h * (m->v0[i] + m->v[i]) / 2;
  }
}

static int node(const Midpoint *m, int32_t slot) {
  return slot == S2_NONE ? S2_GROUND : m->step->node_of[slot];
}

static void fill_momentum(const Midpoint *m) {
  const S2Step *step = m->step;
  for (int i = 0; i < 3 * m->nodes; i++) {
    int32_t slot = m->island->node[i / 3], at = 3 * slot + i % 3;
    const S2Body *body = &step->world->bodies.at[slot];
    double mass = i % 3 == 0 ? body->inertia : body->mass;
    double damping = step->mass[at] - mass; // h times the damper's constant
    m->matrix.a[i * m->matrix.size + i] = mass + damping / 2;
    m->right[i] = step->h * step->force[at] - mass * (m->v[i] - m->v0[i]) -
                  damping * (m->v0[i] + m->v[i]) / 2;
  }
}

// The part of its tangent that the chord of a turn within the step has.
static double chord(const Midpoint *m, int of) {
  double half = of == S2_GROUND ? 0 : m->step->h * (m->v0[3 * of] + m->v[3 * of]) / 4;
  return fabs(half) < 1e-8 ? 1 : sin(half) / half;
}

// Adds the joints' impulses at the midpoint, their derivatives, and the rows g(q+) = 0 (times 2/h).
static void fill_joints(const Midpoint *m) {
  const S2Step *step = m->step;
  int size = m->matrix.size, speeds = 3 * m->nodes;
  double *a = m->matrix.a;
  for (int pass = 0; pass < 2; pass++) {
    bool end = pass == 1;
    move(m, end ? 1 : 0.5);
    for (int i = 0, r = 0; i < m->island->joints; i++) {
      const S2Joint *joint = &step->world->joints.at[m->island->joint[i]];
      int of[2] = {node(m, joint->a), node(m, joint->b)};
      S2JointRow rows[EQUATIONS];
      double bend[2];
      equations(joint, step->q1, rows);
      hessian(rows, m->lambda + r, &bend[0], &bend[1]);
      for (int k = 0; k < EQUATIONS; k++, r++) {
        int row = speeds + r;
        m->right[row] = end ? -2 / step->h * rows[k].value : 0;
        for (int side = 0; side < 2; side++) {
          double *part = side == 0 ? rows[k].ja : rows[k].jb;
          part[0] *= end ? 1 : chord(m, of[side]);
          for (int c = 0; c < 3 && of[side] != S2_GROUND; c++) {
            int column = 3 * of[side] + c;
            if (end) {
              a[column * size + row] = part[c];
            } else {
              a[row * size + column] = -part[c];
              m->right[column] += part[c] * m->lambda[r];
            }
          }
        }
      }
      for (int side = 0; side < 2 && !end; side++) {
        int at = 3 * of[side];
        a[of[side] == S2_GROUND ? 0 : at * size + at] -=
            of[side] == S2_GROUND ? 0 : step->h / 4 * bend[side];
      }
    }
  }
}

static bool newton(Midpoint *m, double speed) {
  int size = m->matrix.size;
  for (int pass = 0; pass < S2_MIDPOINT_PASSES; pass++) {
    memset(m->matrix.a, 0, sizeof(double) * (size_t)size * (size_t)size);
    fill_momentum(m);
    fill_joints(m);
    if (!s2_dense_factor(&m->matrix)) {
      return false;
    }
    s2_dense_solve(&m->matrix, m->right);
    double change = 0;
    for (int i = 0; i < 3 * m->nodes; i++) {
      m->v[i] += m->right[i];
      change = fmax(change, fabs(m->right[i]) * (i % 3 == 0 ? m->island->length : 1));
    }
    for (int i = 0; i < m->rows; i++) {
      m->lambda[i] += m->right[3 * m->nodes + i];
    }
    if (!(change <= 1e100)) { // not a number, or off to infinity
      return false;
    }
    double rounding = S2_MIDPOINT_ROUNDING * m->island->length / m->step->h;
    if (change <= fmax(S2_MIDPOINT_TOLERANCE * speed, rounding)) {
      return true;
    }
  }
  return false;
}

// Joints alone act, on bodies that are solved for or stand still.
static bool applies(const S2Step *step, const S2Island *island) {
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      if (touch->points[k].normal_impulse > 0) {
        return false;
      }
    }
  }
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    const int32_t slot[2] = {joint->a, joint->b};
    if (!is_known(joint)) {
      return false;
    }
    for (int side = 0; side < 2; side++) {
      if (slot[side] != S2_NONE && step->node_of[slot[side]] == S2_GROUND) {
        const double *v = step->free_v + 3 * slot[side];
        if (v[0] != 0 || v[1] != 0 || v[2] != 0) {
          return false;
        }
      }
    }
  }
  return island->joints > 0;
}

// How fast v0 leaves the joints at q0, m/s.
static double off_joints(const Midpoint *m) {
  const S2Step *step = m->step;
  double worst = 0;
  for (int i = 0; i < m->island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[m->island->joint[i]];
    S2JointRow rows[EQUATIONS];
    equations(joint, step->q0, rows);
    int a = node(m, joint->a), b = node(m, joint->b);
    for (int k = 0; k < EQUATIONS; k++) {
      double u = 0;
      for (int c = 0; c < 3; c++) {
        u += a == S2_GROUND ? 0 : rows[k].ja[c] * m->v0[3 * a + c];
        u += b == S2_GROUND ? 0 : rows[k].jb[c] * m->v0[3 * b + c];
      }
      worst = fmax(worst, fabs(u));
    }
  }
  return worst;
}

static bool opens_no_contact(const S2Step *step, const S2Island *island) {
  bool open = true;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      double u = s2_touch_velocity(touch, k, touch->points[k].at.normal, step->v1);
      open &= touch->points[k].at.gap + step->h * u >= -S2_TOUCH_SLOP * island->length;
    }
  }
  return open;
}

// Impulses are along the rows of s2_hinge_kind, x and y of b at the start.
static void keep_impulses(const Midpoint *m) {
  const S2Step *step = m->step;
  s2_step_scale_joints(m->step, m->island, 0);
  for (int i = 0; i < m->island->joints; i++) {
    int32_t slot = m->island->joint[i];
    const S2Joint *joint = &step->world->joints.at[slot];
    S2Vec2 push = {m->lambda[EQUATIONS * i], m->lambda[EQUATIONS * i + 1]};
    S2Rot turn = s2_rot(joint->b == S2_NONE ? 0 : step->q0[3 * joint->b]);
    S2Vec2 local = s2_unrotate(turn, push);
    memcpy(step->joint_impulse + S2_JOINT_ROWS * slot, &local, sizeof local);
    memcpy(step->joint_reaction + 3 * slot + 1, &push, sizeof push);
  }
}

bool s2_step_midpoint(S2Step *step, const S2Island *island, bool *done) {
  *done = false;
  int rows = EQUATIONS * island->joints;
  int size = 3 * island->nodes + rows;
  if (!applies(step, island) || size > S2_MIDPOINT_MAX) {
    return true;
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int noted = s2_notes_mark(step);
  Midpoint m = {
      .step = step,
      .island = island,
      .nodes = island->nodes,
      .rows = rows,
      .v0 = S2_TAKE(step->arena, double, 3 * island->nodes),
      .v = S2_TAKE(step->arena, double, 3 * island->nodes),
      .lambda = S2_TAKE_ZEROED(step->arena, double, rows),
      .matrix = {.size = size,
                 .nonsymmetric = true,
                 .a = S2_TAKE(step->arena, double, size *size),
                 .pivot = S2_TAKE(step->arena, int32_t, size)},
      .right = S2_TAKE(step->arena, double, size),
  };
  double *linear = S2_TAKE(step->arena, double, 3 * island->nodes);
  for (int i = 0; i < 3 * m.nodes; i++) {
    int32_t at = 3 * island->node[i / 3] + i % 3;
    m.v0[i] = step->v0[at];
    m.v[i] = linear[i] = step->v1[at];
  }
  double speed = s2_island_speed(step, island);
  bool restarted = off_joints(&m) > S2_MIDPOINT_OFF * speed;
  if (restarted) { // the rule would keep that, with changing sign
    if (!s2_step_before_impact(step, island)) {
      return false;
    }
    for (int i = 0; i < 3 * m.nodes; i++) {
      m.v0[i] = step->v2[3 * island->node[i / 3] + i % 3];
    }
  }
  s2_dense_single_threaded();
  bool solved = newton(&m, speed);
  for (int i = 0; i < 3 * m.nodes; i++) {
    step->v1[3 * island->node[i / 3] + i % 3] = solved ? (m.v0[i] + m.v[i]) / 2 : linear[i];
  }
  *done = solved && opens_no_contact(step, island);
  for (int i = 0; i < 3 * m.nodes; i++) {
    int32_t at = 3 * island->node[i / 3] + i % 3;
    step->v1[at] = *done ? step->v1[at] : linear[i];
    step->v2[at] = *done ? m.v[i] : linear[i];
  }
  if (*done) {
    s2_note_midpoint(step, island, restarted, m.v0, linear);
    keep_impulses(&m);
  } else {
    s2_notes_rewind(step, noted);
  }
  s2_arena_rewind(step->arena, mark);
  return true;
}
