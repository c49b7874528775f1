#include "diff/forward/step_tangent.h"

#include <math.h>
#include <string.h>

// The numbers of event_undo.c: bodies that meet at less than GRAZING of their speeds only graze,
// and a length that agrees with a given one to GIVEN is that length.
static const double GRAZING = 1e-6, GIVEN = 1e-9;

typedef struct Walk {
  const S2World *world;
  const S2Notes *notes;
  const S2Lines *lines;
  S2Arena *arena;
  int n, columns;
  const S2Tangents *start;
  double *q0, *v0, *q1, *v1; // n x columns: at the start of the substep, and at its end
  // The motion of the island of the current interval.
  S2PieceTangent piece;  // arrays of S2_SMALL_NODES bodies
  double *force;         // as S2PieceTangent.force
  double *left, *length; // per column: derivatives of the remaining time and of a piece's length
  double interval;       // s, the remaining time at its start
  const S2Note *free, *set_out; // the last notes of these acts
  bool flies, closes;           // the flow has no rows; it ends when a limit closes
  int solves;                   // number of solves of an impact
} Walk;

S2Tangents s2_tangents_new(int n, int directions, int inputs, S2Arena *arena) {
  int columns = directions + 1, numbers = n * columns;
  double *at = S2_TAKE_ZEROED(arena, double, 3 * numbers + 1);
  return (S2Tangents){.n = n,
                      .columns = columns,
                      .q = at,
                      .v = at + numbers,
                      .force = at + 2 * numbers,
                      .field = S2_TAKE(arena, S2FieldTangent, inputs + 1)};
}

// ---- Forces ------------------------------------------------------------------------------------

S2Status s2_tangents_turn(S2World *world, S2Arena *arena, S2Tangents *tangents) {
  int n = tangents->n, columns = tangents->columns;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Turning turning;
  S2_TRY(s2_turning_of(world, false, arena, &turning));
  for (int d = 0; d < columns && turning.count > 0; d++) {
    for (int i = 0; i < n; i++) {
      turning.force[i] = tangents->q[i * columns + d];
      turning.by_pose[i] = 0;
    }
    for (int k = 0; k < turning.count; k++) {
      s2_line_bend(&turning.lines, &turning.line[k], turning.u[k], turning.force, turning.by_pose);
    }
    for (int i = 0; i < n; i++) {
      tangents->force[i * columns + d] += turning.by_pose[i];
    }
  }
  s2_arena_rewind(arena, mark);
  return s2_ok();
}

// ---- Bodies in free flight ---------------------------------------------------------------------

// to := derivatives of a velocity without contacts and joints after the time h
// (s2_step_free_body).
static void walk_free_velocity(const Walk *walk, int32_t slot, int c, double h, const double *v,
                               const double *force, double *to) {
  const S2Body *body = &walk->world->bodies.at[slot];
  double alpha = walk->world->kept.def.alpha, inertial = c == 0 ? body->inertia : body->mass;
  double damping = c == 0 ? body->angular_damping : body->linear_damping;
  double mass = inertial * (1 + h * alpha * damping);
  double left = inertial * (1 - h * (1 - alpha) * damping);
  for (int d = 0; d < walk->columns; d++) {
    to[d] = (left * v[d] + h * force[d]) / mass;
  }
}

// All bodies move freely by the trapezoidal rule. Islands then replace the motion of their bodies.
static void walk_drift(const Walk *walk, double h) {
  int columns = walk->columns;
  for (int i = 0; i < walk->world->order.count; i++) {
    int32_t slot = walk->world->order.at[i], at = walk->lines->column[slot];
    bool moves = at != S2_NONE && s2_body_moves(&walk->world->bodies.at[slot]);
    for (int c = 0; c < 3 && moves; c++) {
      int k = (at + c) * columns;
      walk_free_velocity(walk, slot, c, h, walk->v0 + k, walk->start->force + k, walk->v1 + k);
      for (int d = 0; d < columns; d++) {
        walk->q1[k + d] = walk->q0[k + d] + h / 2 * (walk->v0[k + d] + walk->v1[k + d]);
      }
    }
  }
}

// ---- Islands -----------------------------------------------------------------------------------

static void walk_take_nodes(Walk *walk, const S2Island *island, const double *q, const double *v) {
  size_t bytes = sizeof(double) * (size_t)(3 * walk->columns);
  for (int i = 0; i < island->nodes; i++) {
    int from = walk->lines->column[island->node[i]] * walk->columns, to = 3 * i * walk->columns;
    memcpy(walk->piece.q + to, q + from, bytes);
    memcpy(walk->piece.v + to, v + from, bytes);
    memcpy(walk->force + to, walk->start->force + from, bytes);
  }
}

static void walk_put_nodes(const Walk *walk, const S2Island *island) {
  size_t bytes = sizeof(double) * (size_t)(3 * walk->columns);
  for (int i = 0; i < island->nodes; i++) {
    int to = walk->lines->column[island->node[i]] * walk->columns, from = 3 * i * walk->columns;
    memcpy(walk->q1 + to, walk->piece.q + from, bytes);
    memcpy(walk->v1 + to, walk->piece.v + from, bytes);
  }
}

// Adds the effect of the length of the last flow, and clears the column of lengths.
static void walk_add_length(Walk *walk, int nodes) {
  int columns = walk->columns, last = columns - 1;
  for (int i = 0; i < 3 * nodes; i++) {
    double *q = walk->piece.q + i * columns, *v = walk->piece.v + i * columns;
    for (int d = 0; d < last; d++) {
      q[d] += q[last] * walk->length[d];
      v[d] += v[last] * walk->length[d];
    }
    q[last] = v[last] = 0;
  }
  for (int d = 0; d < last; d++) {
    walk->left[d] -= walk->length[d];
  }
}

// Sets the length of a flow that takes a fraction of the remaining time.
static void walk_share_left(Walk *walk, double fraction) {
  for (int d = 0; d < walk->columns; d++) {
    walk->length[d] = fraction * walk->left[d];
  }
}

// Returns false for a smooth derivative of rows that only push: it is not the derivative of the
// piece.
static bool walk_supports(const Walk *walk, const S2Small *piece) {
  bool smooth = walk->world->kept.def.gradient == S2_GRADIENT_SMOOTH, sided = false;
  for (int r = 0; r < piece->rows && smooth; r++) {
    sided |= piece->row[r].law >= S2_RATTLE_LIMIT;
  }
  return !sided;
}

// The whole step of an island without contacts.
static bool walk_island(Walk *walk, const S2Note *note, double dt) {
  const S2Island *island = &note->of->island;
  const S2RattleNote *rattle = &note->rattle;
  walk_take_nodes(walk, island, walk->q0, walk->v0);
  memset(walk->left, 0, sizeof(double) * (size_t)walk->columns);
  for (int k = 0; k < rattle->pieces; k++) {
    const S2Small *piece = &rattle->flat[k];
    if (!walk_supports(walk, piece) || !s2_piece_tangent(piece, dt, &walk->piece, walk->arena)) {
      return false;
    }
    if (!s2_piece_closing(piece, &walk->piece, walk->length)) {
      walk_share_left(walk, 1);
    }
    walk_add_length(walk, island->nodes);
  }
  walk_put_nodes(walk, island);
  return true;
}

static void walk_open_interval(Walk *walk, const S2Note *note) {
  bool first = note->interval.earlier == 0;
  walk_take_nodes(walk, &note->of->island, first ? walk->q0 : walk->q1,
                  first ? walk->v0 : walk->v1);
  if (first) {
    memset(walk->left, 0, sizeof(double) * (size_t)walk->columns);
  }
  walk->interval = note->h;
  walk->flies = walk->closes = false;
  walk->solves = 0;
}

// Returns the derivative of a velocity in free flight with respect to the time h since v0.
static double walk_free_rate(const Walk *walk, int32_t slot, int c, double h, double v0,
                             double v1) {
  const S2Body *body = &walk->world->bodies.at[slot];
  double alpha = walk->world->kept.def.alpha, inertial = c == 0 ? body->inertia : body->mass;
  double damping = c == 0 ? body->angular_damping : body->linear_damping;
  double force = walk->free->free.force[3 * slot + c];
  double damped = inertial * damping * ((1 - alpha) * v0 + alpha * v1);
  return (force - damped) / (inertial * (1 + h * alpha * damping));
}

// A flow without rows, by the trapezoidal rule.
static void walk_fly(Walk *walk, const S2Note *note) {
  const S2Island *island = &note->of->island;
  S2ArenaMark mark = s2_arena_mark(walk->arena);
  int columns = walk->columns, last = columns - 1;
  double *after = S2_TAKE(walk->arena, double, columns), share = note->arrive.share;
  double h = note->h;
  for (int i = 0; i < 3 * island->nodes; i++) {
    int32_t slot = island->node[i / 3];
    double *q = walk->piece.q + i * columns, *v = walk->piece.v + i * columns;
    double v0 = walk->set_out->set_out.v0[i], v1 = note->arrive.v1[i];
    walk_free_velocity(walk, slot, i % 3, h, v, walk->force + i * columns, after);
    after[last] += walk_free_rate(walk, slot, i % 3, h, v0, v1);
    for (int d = 0; d < columns; d++) {
      q[d] += h * ((1 - share) * v[d] + share * after[d]);
      v[d] = after[d];
    }
    q[last] += (1 - share) * v0 + share * v1;
  }
  s2_arena_rewind(walk->arena, mark);
}

static bool walk_piece(Walk *walk, const S2Note *note, double dt) {
  const S2Small *piece = note->rattle.flat;
  if (piece == NULL || !walk_supports(walk, piece) ||
      !s2_piece_tangent(piece, dt, &walk->piece, walk->arena)) {
    return false;
  }
  walk->closes = s2_piece_closing(piece, &walk->piece, walk->length);
  return true;
}

// Sets the derivatives of the time at which two shapes meet. Returns false if it has none.
static bool walk_meet(Walk *walk, const S2Note *note) {
  const S2NoteIsland *of = note->of;
  double slop = S2_TOUCH_SLOP * of->island.length, rate = 0;
  bool leaves = fabs(note->h - S2_EVENT_LEAVING * walk->interval) <= GIVEN * note->h;
  if (note->arrive.others || note->arrive.point == S2_NONE || leaves) {
    return false;
  }
  S2Touch touch;
  s2_note_touch(&walk->world->kept.def, of->touch[0], &touch);
  const S2TouchPoint *point = &touch.points[note->arrive.point];
  S2Vec2 n = point->at.normal;
  if (!(fabs(point->at.gap) <= S2_EVENT_CLOSED * slop)) {
    return false;
  }
  // The gradient of the gap. The ground does not move.
  const double j[6] = {s2_cross(point->at.point, n), n.x,  n.y,
                       -s2_cross(point->arm_b, n),   -n.x, -n.y};
  memset(walk->length, 0, sizeof(double) * (size_t)walk->columns);
  double fastest = 0;
  for (int i = 0; i < of->island.nodes; i++) {
    int32_t slot = of->island.node[i];
    for (int side = 0; side < 2; side++) {
      for (int c = 0; c < 3 && slot == (side == 0 ? touch.body_a : touch.body_b); c++) {
        const double *q = walk->piece.q + (3 * i + c) * walk->columns;
        for (int d = 0; d < walk->columns; d++) {
          walk->length[d] += j[3 * side + c] * q[d];
        }
        fastest = fmax(fastest, fabs(j[3 * side + c] * q[walk->columns - 1]));
      }
    }
  }
  rate = walk->length[walk->columns - 1];
  for (int d = 0; d < walk->columns; d++) {
    walk->length[d] = d == walk->columns - 1 ? 0 : -walk->length[d] / rate;
  }
  return rate < -GRAZING * fastest;
}

// The end of a flow.
static bool walk_arrive(Walk *walk, const S2Note *note) {
  if (walk->flies) {
    walk_fly(walk, note);
  }
  if (note->arrive.meets) {
    if (!walk_meet(walk, note)) {
      return false;
    }
  } else if (!walk->closes) {
    walk_share_left(walk, note->h / walk->interval);
  }
  walk_add_length(walk, note->of->island.nodes);
  return true;
}

static bool walk_strike(Walk *walk, const S2Note *note) {
  // The velocities are first made to satisfy the joints, which they do.
  int solves = note->of->island.joints > 0 ? 2 : 1;
  return walk->solves == solves && note->of->impact != NULL &&
         s2_impact_tangent(note->of->impact, &walk->piece, walk->arena);
}

// ---- The step ----------------------------------------------------------------------------------

static void walk_begin_substep(Walk *walk, bool first) {
  size_t bytes = sizeof(double) * (size_t)(walk->n * walk->columns);
  memcpy(walk->q0, first ? walk->start->q : walk->q1, bytes);
  memcpy(walk->v0, first ? walk->start->v : walk->v1, bytes);
  memcpy(walk->q1, walk->q0, bytes);
  memcpy(walk->v1, walk->v0, bytes);
}

static bool walk_act(Walk *walk, int index, double dt) {
  const S2Note *note = s2_note_at(walk->notes, index);
  switch (note->act) {
  case S2_ACT_SUBSTEP:
    walk_begin_substep(walk, index == 0);
    return true;
  case S2_ACT_DRIFT:
    walk_drift(walk, note->h);
    return true;
  case S2_ACT_RATTLE:
    return note->rattle.flat != NULL && walk_island(walk, note, dt);
  case S2_ACT_INTERVAL:
    walk_open_interval(walk, note);
    return true;
  case S2_ACT_SET_OUT:
    walk->set_out = note;
    return true;
  case S2_ACT_FLY:
    walk->flies = true;
    return true;
  case S2_ACT_PIECE:
    return walk_piece(walk, note, dt);
  case S2_ACT_ARRIVE:
    return walk_arrive(walk, note);
  case S2_ACT_INTERVAL_END:
    walk_put_nodes(walk, &note->of->island);
    return true;
  case S2_ACT_REPAY:
    return note->energy.loss == 0 && !note->energy.edge;
  case S2_ACT_RESTART:
    walk->solves = 0;
    return true;
  case S2_ACT_SOLVE:
    walk->solves += 1;
    return walk->interval > 0; // other schemes solve outside intervals
  case S2_ACT_STRUCK:
    return walk_strike(walk, note);
  case S2_ACT_FREE: // its results follow from those of other acts
    walk->free = note;
    return true;
  case S2_ACT_FLOWED:
  case S2_ACT_COMMIT:
    return true;
  default:
    return false;
  }
}

// Returns true if all bodies that move are unknowns of the step, and islands fit the arrays.
static bool walk_fits(const S2World *world, const S2Notes *notes) {
  bool fits = notes->at.count > 0 && notes->reason == NULL && !notes->unsolved &&
              s2_note_at(notes, 0)->act == S2_ACT_SUBSTEP;
  for (int i = 0; i < world->order.count && fits; i++) {
    const S2Body *body = &world->bodies.at[world->order.at[i]];
    fits = body->type != S2_KINEMATIC && !body->has_law;
  }
  for (int i = 0; i < notes->at.count && fits; i++) {
    const S2NoteIsland *of = s2_note_at(notes, i)->of;
    fits = of == NULL || of->island.nodes <= S2_SMALL_NODES;
  }
  return fits;
}

bool s2_step_tangent(const S2World *world, const S2Notes *notes, const S2Lines *lines,
                     S2Arena *arena, S2Tangents *tangents) {
  if (!walk_fits(world, notes)) {
    return false;
  }
  S2ArenaMark mark = s2_arena_mark(arena);
  int n = tangents->n, columns = tangents->columns, numbers = n * columns;
  int of_island = 3 * S2_SMALL_NODES * columns;
  // One block for all arrays.
  double *at = S2_TAKE(arena, double, 4 * numbers + 3 * of_island + 2 * columns);
  Walk walk = {.world = world,
               .notes = notes,
               .lines = lines,
               .arena = arena,
               .n = n,
               .columns = columns,
               .start = tangents,
               .q0 = at,
               .v0 = at + numbers,
               .q1 = at + 2 * numbers,
               .v1 = at + 3 * numbers,
               .piece = {.columns = columns,
                         .q = at + 4 * numbers,
                         .v = at + 4 * numbers + of_island,
                         .fields = tangents->fields,
                         .field = tangents->field},
               .force = at + 4 * numbers + 2 * of_island,
               .left = at + 4 * numbers + 3 * of_island};
  // Move the derivatives over one act after the other.
  walk.length = walk.left + columns;
  walk.piece.force = walk.force;
  double dt = world->kept.def.dt / world->kept.def.substeps;
  bool good = true;
  for (int i = 0; i < notes->at.count && good; i++) {
    good = walk_act(&walk, i, dt);
  }
  if (good) {
    memcpy(tangents->q, walk.q1, sizeof(double) * (size_t)numbers);
    memcpy(tangents->v, walk.v1, sizeof(double) * (size_t)numbers);
  }
  s2_arena_rewind(arena, mark);
  return good;
}
