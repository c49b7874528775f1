// Derivatives of contacts in the two-stage flow. A stage imposes the rows of points that touch and
// of points that stick. Sliding friction is proportional to the normal impulse. So the normal row
// of a sliding point acts along n + s mu t with s = +-1, but measures the speed along n only. This
// makes the matrix of the stage unsymmetric.
//
// A contact that sticks in stage 1 does not move along the mean of its tangents at both ends. The
// tangent at the end turns with the bodies, so the row of friction measures
//
//     d((Jt0 + Jt1)/2 u)/du = (Jt0 + Jt1)/2 + h/2 d(Jt1 u)/dq1
#include "diff/joints/contact_vjp.h"
#include "diff/step/rattle_undo.h"

#include <string.h>

// An impulse or speed below this fraction of the island's speed counts as being on an edge.
static const double EDGE = 1e-9;
// An impulse this close to its bound, as a fraction of the bound, counts as being at the bound.
static const double AT_BOUND = 1e-9;

// ---- Points ------------------------------------------------------------------------------------

static const S2Touch *contact_touch(const S2RattlePiece *piece, int r, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  return &(end ? &rattle->at1 : &rattle->at0)->touch[rattle->term[r].place];
}

// Passes the adjoint of a row on to its contact point. The row is (arm x d, d) for body a, minus
// the same for b.
static S2PointBar contact_point_bar(const S2RattlePiece *piece, int r, bool end,
                                    const S2RowBar *bar) {
  const S2RattleTerm *term = &piece->rattle.term[r];
  const S2TouchPoint *point = &contact_touch(piece, r, end)->points[term->index];
  bool gap = term->source == S2_RATTLE_OF_GAP;
  S2Vec2 d = gap ? point->at.normal : s2_left(point->at.normal);
  S2Vec2 d_bar = s2_vec2(bar->ja[1] - bar->jb[1], bar->ja[2] - bar->jb[2]);
  d_bar = s2_add_scaled(d_bar, bar->ja[0], s2_left(point->at.point));
  d_bar = s2_add_scaled(d_bar, -bar->jb[0], s2_left(point->arm_b));
  return (S2PointBar){.normal = gap ? d_bar : s2_right(d_bar),
                      .point = s2_scale(-bar->ja[0], s2_left(d)),
                      .arm_b = s2_scale(bar->jb[0], s2_left(d)),
                      .gap = gap ? bar->value : 0};
}

int s2_rattle_contact_vjp(S2RattlePiece *piece, int r, bool end, const S2RowBar *bars) {
  const S2Rattle *rattle = &piece->rattle;
  S2PointBar sum = contact_point_bar(piece, r, end, &bars[r]);
  int last = r;
  // The normal row and the rows along the surface belong to the same contact point.
  while (last + 1 < rattle->rows && rattle->term[last + 1].source == S2_RATTLE_OF_SLIP) {
    last += 1;
    S2PointBar more = contact_point_bar(piece, last, end, &bars[last]);
    sum.normal = s2_add(sum.normal, more.normal);
    sum.point = s2_add(sum.point, more.point);
    sum.arm_b = s2_add(sum.arm_b, more.arm_b);
  }
  s2_touch_point_vjp(piece->undo->world, contact_touch(piece, r, end), rattle->term[r].index,
                     end ? rattle->q1 : rattle->q0, &sum, end ? piece->q1_bar : piece->q0_bar,
                     piece->undo->gradient);
  return last;
}

void s2_rattle_contact_poses(const S2RattlePiece *piece, int r, const S2RowBar *bar,
                             double *q_bar) {
  const S2World *world = piece->undo->world;
  const S2Touch *touch = contact_touch(piece, r, true);
  const double *q = piece->rattle.q1;
  S2PointBar point = contact_point_bar(piece, r, true, bar);
  S2Vec2 any = {1, 0}; // adjoints of poses do not depend on the edge
  S2PointSource to = s2_manifold_point_vjp(&touch->points[piece->rattle.term[r].index].at, any,
                                           q + 3 * touch->body_a, q + 3 * touch->body_b,
                                           world->pieces.at[touch->shape_a].radius,
                                           world->pieces.at[touch->shape_b].radius, &point);
  for (int c = 0; c < 3; c++) {
    q_bar[3 * touch->body_a + c] += to.qa[c];
    q_bar[3 * touch->body_b + c] += to.qb[c];
  }
}

// ---- Speeds ------------------------------------------------------------------------------------

// Returns the mean velocity of a body or of ground over the piece, in rad/s and m/s.
static double contact_velocity(const S2RattlePiece *piece, int32_t slot, int c) {
  const S2Step *step = piece->rattle.step;
  int32_t node = step->node_of[slot];
  return node == S2_GROUND ? step->free_v[3 * slot + c] : piece->rattle.u[3 * node + c];
}

// Returns the speed along row r with the given Jacobians, in m/s. It is a mean over the piece, or
// the speed at its end.
static double contact_speed(const S2RattlePiece *piece, int r, const S2RowSides *side, bool end) {
  const S2Rattle *rattle = &piece->rattle;
  const double *v = end ? rattle->v1 : rattle->u;
  const double *given = end ? s2_rattle_ground_end(rattle) : rattle->step->free_v;
  int32_t slot[2];
  double speed = 0;
  s2_rattle_bodies(&piece->rattle, &piece->rattle.term[r], slot);
  for (int i = 0; i < 2; i++) {
    int32_t node = rattle->step->node_of[slot[i]];
    const double *of = node == S2_GROUND ? given + 3 * slot[i] : v + 3 * node;
    const double *j = i == 0 ? side->a : side->b;
    speed += j[0] * of[0] + j[1] * of[1] + j[2] * of[2];
  }
  return speed;
}

// Passes `factor`, the adjoint of the speed along row r, on to the row and to the ground velocity.
static void contact_speed_vjp(const S2RattlePiece *piece, int r, const S2RowSides *side,
                              double factor, S2RowBar *bar) {
  const S2Step *step = piece->rattle.step;
  int32_t slot[2];
  s2_rattle_bodies(&piece->rattle, &piece->rattle.term[r], slot);
  for (int i = 0; i < 2; i++) {
    double *to = i == 0 ? bar->ja : bar->jb;
    const double *j = i == 0 ? side->a : side->b;
    for (int c = 0; c < 3; c++) {
      to[c] += factor * contact_velocity(piece, slot[i], c);
      if (step->node_of[slot[i]] == S2_GROUND) {
        piece->undo->bar.free_v[3 * slot[i] + c] += factor * j[c];
      }
    }
  }
}

// Returns the speed along row r in a stage, in m/s. Stage 1 uses the mean over the piece, stage 2
// the end of the piece.
static double stage_speed(const S2RattlePiece *piece, int r, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  if (second) {
    double soft = term->soft ? piece->c2[r] * rattle->k[r] + piece->b2[r] : 0;
    return contact_speed(piece, r, &rattle->at1.side[r], true) + soft - term->speed;
  }
  if (term->source == S2_RATTLE_OF_SLIP) {
    return s2_rattle_slip(rattle, r, rattle->u) - term->speed;
  }
  double soft = term->soft ? term->compliance * rattle->l[r] + term->bias : 0;
  return (rattle->at1.value[r] - s2_rattle_from(rattle, r)) / rattle->h + soft;
}

// ---- States ------------------------------------------------------------------------------------

static double stage_impulse(const S2RattlePiece *piece, int r, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  const S2RattleTerm *term = &rattle->term[r];
  bool gap = term->source == S2_RATTLE_OF_GAP; // compliant rows use the sum of both stages
  bool sums = second && (gap || s2_rattle_sums(term));
  return sums ? rattle->l[r] + rattle->k[r] : second ? rattle->k[r] : rattle->l[r];
}

// Returns the speed in m/s that an impulse of 1 N s causes.
static double stage_mobility(const S2RattlePiece *piece, int r, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  S2Row row = s2_rattle_row(rattle, r, &(second ? rattle->at1 : rattle->at0).side[r]);
  return s2_rattle_row_mobility(rattle, &row);
}

// The row is held if the impulse is larger than the speed. If both are almost 0, the row is on an
// edge and counts as open.
static S2RattleState normal_state(S2RattlePiece *piece, int r, bool second) {
  double press = stage_impulse(piece, r, second) * stage_mobility(piece, r, second);
  double speed = stage_speed(piece, r, second), least = EDGE * piece->rattle.speed;
  piece->edge[second][r] = press <= least && speed <= least;
  return piece->edge[second][r] || !(press > speed) ? S2_RATTLE_OPEN : S2_RATTLE_HELD;
}

static S2RattleState friction_state(S2RattlePiece *piece, int r, bool second) {
  double x = stage_impulse(piece, r, second), least = EDGE * piece->rattle.speed;
  double most = piece->rattle.term[r].mu * stage_impulse(piece, r - 1, second);
  double room = (most - fabs(x)) * stage_mobility(piece, r, second);
  double slip = stage_speed(piece, r, second);
  piece->edge[second][r] = room <= least && fabs(slip) <= least;
  bool slides = piece->edge[second][r] || !(room > fabs(slip));
  bool ahead = fabs(slip) > least ? slip > 0 : x < 0;
  return !slides ? S2_RATTLE_HELD : ahead ? S2_RATTLE_AT_LO : S2_RATTLE_AT_HI;
}

// Returns the state of a joint row. find_edge() checks it again.
static S2RattleState joint_state(const S2RattlePiece *piece, int r, bool second) {
  const S2RattleTerm *term = &piece->rattle.term[r];
  double x = stage_impulse(piece, r, second);
  double full = term->most * piece->half * (second && !term->soft ? 2 : 1) * (1 - AT_BOUND);
  if (term->law == S2_RATTLE_LIMIT) {
    double press = x * stage_mobility(piece, r, second);
    double speed =
        second ? piece->rattle.at1.rate[r] : piece->rattle.at1.value[r] / piece->rattle.h;
    S2Row row = s2_rattle_row(&piece->rattle, r, &piece->rattle.at1.side[r]);
    double back = piece->rattle.arrival.any ? piece->rattle.arrival.back[r] : 0;
    double given = second ? s2_rattle_given_speed(&piece->rattle, r) : 0;
    speed += second ? s2_rattle_row_speed(&row, piece->rattle.v1) + given + back : 0;
    return press > speed ? S2_RATTLE_HELD : S2_RATTLE_OPEN;
  }
  return term->law != S2_RATTLE_BOUNDED ? S2_RATTLE_HELD
         : x >= full                    ? S2_RATTLE_AT_HI
         : x <= -full                   ? S2_RATTLE_AT_LO
                                        : S2_RATTLE_HELD;
}

void s2_rattle_find_states(S2RattlePiece *piece, bool second) {
  S2Rattle *rattle = &piece->rattle;
  S2RattleState *state = second ? rattle->second : rattle->first;
  for (int r = 0; r < rattle->rows; r++) {
    const S2RattleTerm *term = &rattle->term[r];
    piece->share[second][r] = piece->give[second][r] = piece->unit[second][r] = 0;
    if (rattle->touches == 0 || state[r] == S2_RATTLE_KNOWN) {
      continue;
    }
    bool rough = term->law == S2_RATTLE_FRICTION;
    bool halved = rough && s2_rattle_halved(&rattle->term[r - 1]);
    bool presses = rough && (halved ? rattle->first : state)[r - 1] == S2_RATTLE_HELD;
    state[r] = term->source == S2_RATTLE_OF_GAP ? normal_state(piece, r, second)
               : !rough                         ? joint_state(piece, r, second)
               : presses                        ? friction_state(piece, r, second)
                                                : S2_RATTLE_OPEN;
    piece->share[second][r] = rough ? s2_rattle_side(state[r]) : 0;
  }
}

// ---- Rows of a stage ---------------------------------------------------------------------------

void s2_rattle_fold(const S2RattlePiece *piece, bool second, S2Row *push, double *bar) {
  for (int r = 0; r < piece->rattle.rows; r++) {
    const S2RattleTerm *term = &piece->rattle.term[r];
    double by = piece->share[second][r] * term->mu;
    if (by != 0) {
      bar[r - 1] += by * bar[r];
      for (int c = 0; c < 3; c++) {
        push[r - 1].ja[c] += by * push[r].ja[c];
        push[r - 1].jb[c] += by * push[r].jb[c];
      }
    }
  }
}

void s2_rattle_see_slip(const S2RattlePiece *piece, S2Row *see) {
  const S2Rattle *rattle = &piece->rattle;
  const S2Step *step = rattle->step;
  S2Arena *arena = piece->undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  double *turns = S2_TAKE_ZEROED(arena, double, 3 * step->world->bodies.count);
  for (int r = 0; r < rattle->rows; r++) {
    if (rattle->term[r].source != S2_RATTLE_OF_SLIP || rattle->first[r] != S2_RATTLE_HELD) {
      continue; // a row that is not held measures no speed
    }
    int32_t slot[2];
    s2_rattle_bodies(rattle, &rattle->term[r], slot);
    // d(Jt1 u)/dq1, computed with u as the adjoint of Jt1.
    S2RowBar bar = {0};
    double part = rattle->late[r] ? 1 : 0.5;
    const S2RowSides none = {0};
    for (int c = 0; c < 3; c++) {
      bar.ja[c] = part * rattle->h * contact_velocity(piece, slot[0], c);
      bar.jb[c] = part * rattle->h * contact_velocity(piece, slot[1], c);
      turns[3 * slot[0] + c] = turns[3 * slot[1] + c] = 0;
    }
    s2_rattle_contact_poses(piece, r, &bar, turns);
    const S2RowSides *start = rattle->late[r] ? &none : &rattle->at0.side[r];
    const S2RowSides *end = &rattle->at1.side[r];
    for (int c = 0; c < 3; c++) {
      double a = part * (start->a[c] + end->a[c]), b = part * (start->b[c] + end->b[c]);
      see[r].ja[c] = see[r].a >= 0 ? a + turns[3 * slot[0] + c] : 0;
      see[r].jb[c] = see[r].b >= 0 ? b + turns[3 * slot[1] + c] : 0;
    }
  }
  s2_arena_rewind(arena, mark);
}

// ---- Materials ---------------------------------------------------------------------------------

// Passes J p and the adjoint of the impulse of friction row r on to the friction coefficient.
void s2_rattle_friction_vjp(S2RattlePiece *piece, int r, bool second, double pushed) {
  const S2Rattle *rattle = &piece->rattle;
  piece->pair[rattle->term[r].place].friction +=
      piece->share[second][r] * stage_impulse(piece, r - 1, second) * pushed;
  if (second && s2_rattle_halved(&rattle->term[r - 1])) {
    // The bound is 2 mu l, and stage 1 has determined l.
    piece->l_bar[r - 1] += 2 * piece->share[second][r] * rattle->term[r].mu * pushed;
  }
}

void s2_rattle_slip_vjp(S2RattlePiece *piece, int r, bool second, S2RowBar *end) {
  const S2Rattle *rattle = &piece->rattle;
  double y = piece->y[r], part = rattle->late[r] ? 1 : 0.5;
  piece->pair[rattle->term[r].place].surface_speed += y;
  if (second) { // in stage 2, this row measures speeds like other rows
    return;
  }
  contact_speed_vjp(piece, r, &rattle->at1.side[r], -part * y, end);
  if (!rattle->late[r]) {
    contact_speed_vjp(piece, r, &rattle->at0.side[r], -part * y, &piece->at0[r]);
  }
}

static bool tracks_friction(const S2RattlePiece *piece, const S2Touch *touch) {
  const S2WorldGradient *all = piece->undo->gradient;
  return touch->friction == 0 && piece->undo->world->kept.def.contact != S2_FRICTIONLESS &&
         (S2_TRACKS_BODY(all, touch->body_a, friction) ||
          S2_TRACKS_BODY(all, touch->body_b, friction) ||
          S2_TRACKS_PIECE(all, touch->shape_a, friction) ||
          S2_TRACKS_PIECE(all, touch->shape_b, friction));
}

static bool tracks_viscosity(const S2RattlePiece *piece, const S2Touch *touch) {
  const S2WorldGradient *all = piece->undo->gradient;
  return touch->viscosity == 0 && (S2_TRACKS_BODY(all, touch->body_a, contact_viscosity) ||
                                   S2_TRACKS_BODY(all, touch->body_b, contact_viscosity));
}

// Sets a flag if a compliance of 0 is a parameter. Steps with and without compliance are computed
// by different methods.
static void flag_rigid(const S2RattlePiece *piece, const S2Touch *touch) {
  S2WorldGradient *all = piece->undo->gradient;
  bool tracked = all->tracked != NULL && (S2_TRACKS_BODY(all, touch->body_a, contact_compliance) ||
                                          S2_TRACKS_BODY(all, touch->body_b, contact_compliance));
  all->flags |= tracked && !s2_touch_soft(touch) ? S2_GRADIENT_JUMP : 0;
}

// Returns the Jacobians that the row of friction would have.
static S2RowSides smooth_sides(const S2RattlePiece *piece, int r, bool end) {
  const S2TouchPoint *point = &contact_touch(piece, r, end)->points[piece->rattle.term[r].index];
  S2Vec2 t = s2_left(point->at.normal);
  return (S2RowSides){.a = {s2_cross(point->at.point, t), t.x, t.y},
                      .b = {-s2_cross(point->arm_b, t), -t.x, -t.y}};
}

void s2_rattle_smooth_vjp(S2RattlePiece *piece, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  double still = 1e-10 * rattle->speed; // slower slip is rounding error
  for (int r = 0; r < rattle->rows; r++) {
    const S2Touch *touch =
        contact_touch(piece, s2_rattle_of_contact(&rattle->term[r]) ? r : 0, true);
    if (rattle->term[r].source != S2_RATTLE_OF_GAP) {
      continue;
    }
    flag_rigid(piece, touch);
    bool rough = tracks_friction(piece, touch);
    bool drags = tracks_viscosity(piece, touch) && s2_rattle_drags(rattle, r);
    if (!rough && !drags) {
      continue;
    }
    S2RowSides start = smooth_sides(piece, r, rattle->late[r]), end = smooth_sides(piece, r, true);
    // Friction opposes the mean slip in stage 1, and the slip at the end in both stages together.
    double slip[2] = {
        (contact_speed(piece, r, &start, false) + contact_speed(piece, r, &end, false)) / 2 -
            touch->surface_speed,
        contact_speed(piece, r, &end, true) - touch->surface_speed};
    double first = fabs(slip[0]) <= still ? 0 : -copysign(rattle->l[r], slip[0]);
    double both = fabs(slip[1]) <= still ? 0 : -copysign(rattle->l[r] + rattle->k[r], slip[1]);
    S2Row row = s2_rattle_row(rattle, r, second ? &end : &start);
    double pushed = s2_rattle_row_speed(&row, piece->p);
    S2TouchBar *pair = &piece->pair[rattle->term[r].place];
    pair->friction += rough ? (second ? both - first : first) * pushed : 0;
    pair->viscosity -=
        drags ? piece->half * slip[0] * pushed : 0; // viscosity acts equally in both stages
  }
}

void s2_rattle_materials_vjp(const S2RattlePiece *piece) {
  for (int i = 0; i < piece->rattle.touches; i++) {
    s2_touch_material_vjp(piece->undo->world, &piece->rattle.at0.touch[i], &piece->pair[i],
                          piece->undo->gradient);
  }
}
