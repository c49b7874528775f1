// Phase 4: converts an island to a mixed complementarity problem.
// See lcp-physics appendix, eq. 22 and 23.
#include "dynamics/joints/rows.h"
#include "dynamics/step/islands.h"

#include <string.h>

// Creates a row along `direction` at a contact point. The velocity of kinematic bodies is known and
// is part of the bias.
static S2Row contact_row(const S2Step *step, const S2Touch *touch, int k, S2Vec2 direction,
                         S2SolveKind kind) {
  const S2TouchPoint *point = &touch->points[k];
  S2Row row = {
      .a = step->node_of[touch->body_a],
      .b = step->node_of[touch->body_b],
      .coupled_to = -1,
      .lo = 0,
      .hi = INFINITY,
  };
  double ja[3] = {s2_cross(point->at.point, direction), direction.x, direction.y};
  double jb[3] = {-s2_cross(point->arm_b, direction), -direction.x, -direction.y};
  const double *va = step->free_v + 3 * touch->body_a, *vb = step->free_v + 3 * touch->body_b;
  for (int c = 0; c < 3; c++) {
    row.ja[c] = row.a == S2_GROUND ? 0 : ja[c];
    row.jb[c] = row.b == S2_GROUND ? 0 : jb[c];
    if (!s2_solve_traits(kind).displacements) {
      row.bias +=
          (row.a == S2_GROUND ? ja[c] * va[c] : 0) + (row.b == S2_GROUND ? jb[c] * vb[c] : 0);
    }
  }
  return row;
}

// A step resolves the spring of a contact if (h w)^2 is at most this value, where w is the angular
// frequency of a mass on the spring.
static const double RESOLVED = 0.25;

bool s2_step_blends_contacts(const S2Step *step, const S2Island *island) {
  const S2WorldDef *def = &step->world->kept.def;
  bool blends = s2_world_way(def) == S2_SPECULATIVE && def->beta < 1 && def->beta >= 0.5 &&
                def->alpha >= 0.5 && !(island->joints > 0 && step->stiff[island->joint[0]]);
  for (int i = 0; i < island->touches && blends; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count && blends; k++) {
      S2Row row = contact_row(step, touch, k, touch->points[k].at.normal, S2_SOLVE_MOTION);
      double w = 0;
      for (int c = 0; c < 3; c++) {
        w += row.a == S2_GROUND ? 0 : row.ja[c] * row.ja[c] / step->mass[3 * touch->body_a + c];
        w += row.b == S2_GROUND ? 0 : row.jb[c] * row.jb[c] / step->mass[3 * touch->body_b + c];
      }
      blends = s2_touch_soft(touch) && step->h * step->h * w <= RESOLVED * touch->compliance;
    }
  }
  return blends;
}

S2Blend s2_contact_blend(const S2Step *step, const S2Island *island, S2SolveKind kind) {
  bool blends = kind == S2_SOLVE_MOTION && s2_step_blends_contacts(step, island);
  return (S2Blend){.h = step->h,
                   .alpha = blends ? step->world->kept.def.alpha : 1,
                   .beta = blends ? step->world->kept.def.beta : 1};
}

static S2Row normal_row(const S2Step *step, const S2Touch *touch, int k, const S2Choice *choice,
                        S2SolveKind kind, S2Blend blend) {
  const S2ManifoldPoint *at = &touch->points[k].at;
  S2Row row = contact_row(step, touch, k, at->normal, kind);
  if (s2_touch_soft(touch)) {
    double speed = s2_touch_velocity(touch, k, at->normal, step->v0);
    S2SoftRow soft = s2_soften_gap(at->gap, speed, touch->compliance, touch->damping, blend);
    row.compliance = soft.compliance;
    row.bias += soft.bias;
  } else {
    row.bias += choice->bias;
    row.lo = s2_solve_traits(kind).displacements && s2_point_held(step, &touch->points[k])
                 ? -INFINITY
                 : 0;
  }
  return row;
}

// Returns the speed (m/s) that a compressed contact causes. It gives residuals a scale if bodies
// are at rest and there is no gravity.
static double pushed_speed(const S2Row *row, const double *mass) {
  double w = 0;
  for (int c = 0; c < 3; c++) {
    w += row->a == S2_GROUND ? 0 : row->ja[c] * row->ja[c] / mass[3 * row->a + c];
    w += row->b == S2_GROUND ? 0 : row->jb[c] * row->jb[c] / mass[3 * row->b + c];
  }
  return row->compliance > 0 ? fmax(-row->bias, 0) * w / (w + row->compliance) : 0;
}

// Creates the rows of viscosity. Each point that is in contact at the start of the step gets a
// tangential damper, in addition to Coulomb friction. Its impulse is lambda = -h d u, where u is
// the speed at the end of the step. Returns the number of rows.
static int drag_rows(const S2Step *step, const S2Touch *touches, const S2Island *island,
                     const S2Choice *choices, S2SolveKind kind, S2Row *rows, S2JointPart *parts,
                     double *lambda) {
  double touching = S2_TOUCH_SLOP * island->length;
  int n = 0;
  for (int i = 0; i < island->touches && s2_solve_traits(kind).takes_time; i++) {
    int32_t index = island->touch[i];
    const S2Touch *touch = &touches[index];
    double compliance = 1 / (step->h * touch->viscosity); // INFINITY if there is no viscosity
    for (int k = 0; k < touch->count && isfinite(compliance); k++) {
      const S2ManifoldPoint *at = &touch->points[k].at;
      bool closed = at->gap <= touching || touch->points[k].normal_impulse > 0;
      if (!choices[2 * index + k].use || !closed) {
        continue;
      }
      // The row is u + lambda/(h d) = 0 along the surface, relative to the surface speed.
      rows[n] = contact_row(step, touch, k, s2_left(at->normal), kind);
      rows[n].bias -= touch->surface_speed;
      rows[n].lo = -INFINITY;
      rows[n].compliance = compliance;
      rows[n].group = n;
      parts[n] = (S2JointPart){.joint = S2_NONE, .row = 2 * index + k};
      lambda[n++] = 0;
    }
  }
  return n;
}

// Sets the masses, the initial velocities and their indices, and the right-hand side. The
// right-hand side is W free_v for a motion, M v2 for an impact, and 0 for displacements. For the
// forces after an impact it is M v2 + W free_v - M v0.
static void assemble_nodes(const S2Step *step, const S2Island *island, S2SolveKind kind,
                           const S2NodeArrays *to) {
  bool motion = s2_solve_traits(kind).from_v0, forces = motion || kind == S2_SOLVE_FORCES;
  bool from_v2 = !motion && !s2_solve_traits(kind).displacements;
  for (int i = 0; i < island->nodes; i++) {
    int32_t slot = island->node[i];
    const S2Body *body = &step->world->bodies.at[slot];
    const double inertial[3] = {body->inertia, body->mass, body->mass};
    for (int c = 0; c < 3; c++) {
      int at = 3 * slot + c, k = 3 * i + c;
      to->mass[k] = forces ? step->mass[at] : inertial[c];
      to->rhs[k] = forces ? step->mass[at] * step->free_v[at] : 0;
      to->rhs[k] += from_v2 ? inertial[c] * step->v2[at] : 0;
      to->rhs[k] -= kind == S2_SOLVE_FORCES ? inertial[c] * step->v0[at] : 0;
      to->v[k] = motion ? step->v0[at] : 0;
      to->place[k] = at;
    }
  }
}

// Appends the rows of contacts after n rows. Each point has a normal row J v + bias >= 0 and a
// friction row |l_t| <= mu l_n. If projection closes contacts that carried an impulse, their rows
// are equations and come first. May raise `speed`, the scale of residuals. Returns the new number
// of rows.
static int contact_rows(const S2Step *step, const S2Touch *touches, const S2Island *island,
                        const S2Choice *choices, S2SolveKind kind, const double *mass, S2Row *rows,
                        double *lambda, int n, double *speed) {
  S2Blend blend = s2_contact_blend(step, island, kind);
  bool motion = s2_solve_traits(kind).from_v0;
  bool guessed = kind == S2_SOLVE_IMPACT && step->impact != NULL;
  static const double nothing[S2_TOUCH_IMPULSES];
  int group = n > 0 ? rows[n - 1].group + 1 : 0;
  bool holds = s2_solve_traits(kind).displacements && step->holds; // put equations first
  for (int at = holds ? 0 : island->touches; at < 2 * island->touches; at++) {
    int i = at % island->touches;
    const S2Touch *touch = &touches[island->touch[i]];
    const double *impact = guessed ? step->impact + S2_TOUCH_IMPULSES * i : nothing;
    for (int k = 0; k < touch->count; k++) {
      const S2Choice *choice = &choices[2 * island->touch[i] + k];
      const S2TouchPoint *point = &touch->points[k];
      bool later = holds && s2_point_held(step, point) != (at < island->touches);
      if (!choice->use || !s2_solve_presses(kind, touch) || later) {
        continue;
      }
      if (s2_solve_traits(kind).normals) {
        rows[n] = normal_row(step, touch, k, choice, kind, blend);
        *speed = fmax(*speed, pushed_speed(&rows[n], mass));
        rows[n].group = group;
        lambda[n++] = motion ? point->normal_impulse : impact[2 * k];
      }
      if (s2_solve_is_rough(kind, touch)) {
        rows[n] = contact_row(step, touch, k, s2_left(point->at.normal), kind);
        rows[n].bias -= touch->surface_speed;
        rows[n].group = group;
        // If the normal impulse is known from an earlier solve, so are the bounds of friction.
        if (!s2_solve_traits(kind).normals) {
          rows[n].hi = touch->friction * choice->bias;
          rows[n].lo = -rows[n].hi;
        } else {
          rows[n].coupled_to = n - 1;
          rows[n].mu = touch->friction;
        }
        lambda[n++] = motion ? point->tangent_impulse : impact[2 * k + 1];
      }
      group += 1;
    }
  }
  return n;
}

S2Assembly s2_assemble(const S2Step *step, const double *q, const S2Touch *touches,
                       const S2Island *island, const S2Choice *choices, S2SolveKind kind) {
  // Allocate space for the maximum number of rows. Nodes of gears follow the nodes of bodies.
  int of_joints = S2_JOINT_ROWS * island->joints + s2_wide_room(step, island);
  for (int i = 0; i < island->joints; i++) {
    bool turns = s2_step_geometric(step, island->joint[i]) != S2_GEOMETRIC_OFF;
    of_joints += turns ? S2_GEOMETRIC_ROWS : 0;
  }
  int of_drag = 0, of_contacts = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &touches[island->touch[i]];
    of_drag += touch->viscosity > 0 ? touch->count : 0;
    of_contacts += touch->count * (s2_solve_is_rough(kind, touch) ? 2 : 1);
  }
  int most = of_joints + of_drag + of_contacts;
  S2Row *rows = S2_TAKE(step->arena, S2Row, most);
  double *lambda = S2_TAKE(step->arena, double, most);
  S2JointPart *parts = S2_TAKE(step->arena, S2JointPart, of_joints + of_drag);
  int aside = s2_wide_nodes(step, island), nodes = island->nodes + aside;
  double *mass = S2_TAKE(step->arena, double, 3 * nodes);
  double *rhs = S2_TAKE_ZEROED(step->arena, double, 3 * nodes);
  double *v = S2_TAKE_ZEROED(step->arena, double, 3 * nodes);
  int32_t *place = S2_TAKE(step->arena, int32_t, 3 * nodes);
  S2NodeArrays arrays = {mass, rhs, v, place};
  assemble_nodes(step, island, kind, &arrays);
  s2_wide_split(step, island, aside, &arrays);
  // Set the velocity scale of residuals.
  double speed =
      s2_solve_traits(kind).displacements ? island->length : s2_island_speed(step, island);
  // Create the rows of viscosity, then the rows of joints. The group numbers continue.
  int given = 0;
  int drag = drag_rows(step, touches, island, choices, kind, rows, parts, lambda);
  int n = drag;
  if (island->joints > 0) {
    n += s2_step_joint_rows(step, q, island, kind, rows + drag, parts + drag, lambda + drag, rhs,
                            &speed, &given);
    s2_wide_guess(rows + drag, aside > 0 ? n - drag : 0, island->nodes, &arrays);
  }
  for (int i = drag; i < n; i++) {
    rows[i].group += drag;
  }
  int known = n;
  n = contact_rows(step, touches, island, choices, kind, mass, rows, lambda, n, &speed);
  return (S2Assembly){
      .problem = {.nodes = nodes,
                  .rows = n,
                  .mass = mass,
                  .rhs = rhs,
                  .row = rows,
                  .velocity_scale = speed,
                  .length = island->length},
      .part = parts,
      .parts = known,
      .parts_given = given,
      .mass = mass,
      .place = place,
      .lambda = lambda,
      .v = v,
  };
}
