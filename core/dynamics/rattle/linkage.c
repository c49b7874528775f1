// Steps a linkage in pieces: checks whether an island is a linkage, takes it into flat arrays, and
// writes the result to the step.
#include "dynamics/rattle/linkage.h"
#include "dynamics/audit/audit.h"
#include "dynamics/program/table.h"
#include "dynamics/rattle/rattle_numbers.h"
#include "dynamics/step/islands.h"
#include "dynamics/trace/notes.h"

#include <string.h>

typedef S2LinkageOutcome Outcome;

// For numbers that are not NaN. The state of a world is finite.
static double linkage_larger(double a, double b) {
  return a > b ? a : b;
}

// ---- The island --------------------------------------------------------------------------------

// Returns the seat of a body. Each joint on ground has a separate seat for it. Returns S2_NONE for
// kinematic bodies, which may move.
static int32_t take_seat(S2Linkage *linkage, int32_t slot) {
  const S2Step *step = linkage->step;
  int32_t node = slot == S2_NONE ? S2_GROUND : step->node_of[slot];
  if (node != S2_GROUND) {
    return node;
  }
  if (slot != S2_NONE && step->world->bodies.at[slot].type == S2_KINEMATIC) {
    return S2_NONE;
  }
  int32_t seat = linkage->seats++;
  for (int c = 0; c < 3; c++) {
    int at = 3 * seat + c;
    linkage->q0[at] = linkage->q1[at] = slot == S2_NONE ? 0 : step->q0[3 * slot + c];
    linkage->v0[at] = linkage->u[at] = linkage->v1[at] = 0;
    linkage->inverse[at] = linkage->rhs[at] = 0;
  }
  return seat;
}

static bool linkage_take_joint(S2Linkage *linkage, int32_t slot, S2LinkageJoint *to) {
  const S2Joint *joint = &linkage->step->world->joints.at[slot];
  to->slot = slot;
  to->a = take_seat(linkage, joint->a);
  to->b = take_seat(linkage, joint->b);
  to->slides = joint->type == S2_SLIDER;
  to->local_a = joint->local_a;
  to->local_b = joint->local_b;
  to->across = s2_left(joint->axis);
  to->angle = joint->angle0;
  linkage->size[2 * (to - linkage->joint)] = 1;
  linkage->size[2 * (to - linkage->joint) + 1] = to->slides ? linkage->island->length : 1;
  return to->a != S2_NONE && to->b != S2_NONE;
}

static void linkage_take_numbers(S2Linkage *linkage) {
  S2Arena *arena = linkage->step->arena;
  int nodes = 3 * linkage->nodes, places = linkage->nodes + linkage->joints, rows = linkage->rows;
  double *at = S2_TAKE(arena, double, 3 * nodes + 24 * places + 6 * rows + 3 * linkage->joints);
  double **const of_nodes[] = {&linkage->inertial, &linkage->damping, &linkage->force};
  double **const of_seats[] = {&linkage->q0, &linkage->q1,      &linkage->v0,  &linkage->u,
                               &linkage->v1, &linkage->inverse, &linkage->rhs, &linkage->angle};
  double **const of_rows[] = {&linkage->l,      &linkage->k,       &linkage->residual,
                              &linkage->change, &linkage->impulse, &linkage->size};
  for (int i = 0; i < 3; i++, at += nodes) {
    *of_nodes[i] = at;
  }
  for (int i = 0; i < 8; i++, at += 3 * places) {
    *of_seats[i] = at;
  }
  linkage->sine = linkage->angle + places;
  linkage->cosine = linkage->sine + places;
  for (int i = 0; i < 6; i++, at += rows) {
    *of_rows[i] = at;
  }
  linkage->reaction = at;
  linkage->at0 = S2_TAKE(arena, S2LinkageRows, rows);
  linkage->at1 = linkage->at0 + linkage->joints;
  linkage->joint = S2_TAKE(arena, S2LinkageJoint, linkage->joints);
}

// Returns NULL if the island is not a linkage.
static S2Linkage *take_linkage(S2Step *step, S2Island *island) {
  if (!island->linkage || island->nodes <= S2_TABLE_NODES || step->world->dump_directory != NULL ||
      s2_island_lawful(step, island)) {
    return NULL;
  }
  // Sizes of the arrays, then the arrays.
  S2Linkage *linkage = S2_TAKE_ZEROED(step->arena, S2Linkage, 1);
  double tolerance = fmax(step->world->kept.def.tolerance, S2_RATTLE_FINEST);
  linkage->step = step;
  linkage->island = island;
  linkage->nodes = linkage->seats = island->nodes;
  linkage->joints = island->joints;
  linkage->rows = 2 * island->joints;
  linkage->tolerance = fmin(tolerance, S2_RATTLE_SOLVED);
  linkage_take_numbers(linkage);
  for (int i = 0; i < island->joints; i++) {
    if (!linkage_take_joint(linkage, island->joint[i], &linkage->joint[i])) {
      return NULL;
    }
  }
  // Masses and forces of the nodes, then the factors of bounds for the joints.
  for (int i = 0; i < linkage->nodes; i++) {
    int32_t slot = island->node[i];
    const S2Body *body = &step->world->bodies.at[slot];
    for (int c = 0; c < 3; c++) {
      double inertial = c == 0 ? body->inertia : body->mass;
      linkage->inertial[3 * i + c] = inertial;
      linkage->damping[3 * i + c] =
          inertial * (c == 0 ? body->angular_damping : body->linear_damping);
      linkage->force[3 * i + c] = step->force[3 * slot + c];
    }
  }
  for (int i = 0; i < linkage->joints; i++) {
    S2LinkageJoint *joint = &linkage->joint[i];
    bool a = joint->a < linkage->nodes, b = joint->b < linkage->nodes;
    joint->swing_a = a ? s2_length(joint->local_a) / linkage->inertial[3 * joint->a] : 0;
    joint->arm_b = s2_length(joint->local_b);
    joint->light_b = b ? 1 / linkage->inertial[3 * joint->b] : 0;
  }
  return s2_linkage_find_pattern(linkage) ? linkage : NULL;
}

// Sets the velocity scale and the accuracy that follows from it, as rattle.c does.
static void set_accuracy(S2Linkage *linkage) {
  double far = 0, length = linkage->island->length;
  for (int i = 0; i < linkage->nodes; i++) {
    const double *q = linkage->q0 + 3 * (size_t)i;
    far = linkage_larger(far, linkage_larger(fabs(q[1]), fabs(q[2])));
  }
  linkage->rounding = S2_RATTLE_ROUNDED * (length + far);
  linkage->placed = fmax(S2_PROJECTION_TRIGGER * length, 100 * linkage->rounding);
  linkage->speed = s2_island_speed(linkage->step, linkage->island);
}

// ---- Pieces ------------------------------------------------------------------------------------

// Returns true if the island is so slow that rattle.c may find it at rest.
static bool may_rest(const S2Step *step, const S2Island *island, const S2LawFrame *frame) {
  double fastest = 0;
  for (int i = 0; i < island->nodes; i++) {
    const double *v = frame->v + 3 * (size_t)island->node[i];
    double turning = fabs(v[0]) * island->length;
    fastest =
        linkage_larger(fastest, linkage_larger(turning, linkage_larger(fabs(v[1]), fabs(v[2]))));
  }
  return fastest <= S2_RATTLE_SOLVED * s2_island_speed(step, island);
}

// Returns true if rattle.c must first project the poses.
static bool needs_placing(const S2Linkage *linkage) {
  double off = 0;
  for (int i = 0; i < linkage->joints; i++) {
    double second = fabs(linkage->at0[i].value[1]) * linkage->size[2 * i + 1];
    off = linkage_larger(off, linkage_larger(fabs(linkage->at0[i].value[0]), second));
  }
  return off > linkage->placed;
}

static Outcome linkage_piece(S2Linkage *linkage, bool last) {
  double way = S2_RATTLE_WAY * linkage->tolerance * linkage->speed * linkage->h;
  double enough = fmin(S2_RATTLE_PLACE * linkage->island->length, way);
  linkage->enough = fmax(enough, linkage->rounding);
  Outcome outcome = s2_linkage_first(linkage);
  if (outcome != S2_LINKAGE_SOLVED) {
    return outcome;
  }
  if (last) { // rattle.c decides whether to accept any rotation
    return s2_linkage_loads_turn(linkage) ? S2_LINKAGE_ELSEWHERE
           : s2_linkage_second(linkage)   ? S2_LINKAGE_SOLVED
                                          : S2_LINKAGE_ELSEWHERE;
  }
  bool good = !s2_linkage_turns_too_far(linkage) && !s2_linkage_loads_turn(linkage) &&
              s2_linkage_second(linkage) && !s2_linkage_rows_bring(linkage);
  return good ? S2_LINKAGE_SOLVED : S2_LINKAGE_TOO_LONG;
}

// Adds the effect of an impulse along a row to the reaction on the joint's first body, as
// s2_rattle_add_impulses does. A hinge causes no torque about its anchor.
static void add_push(const S2LinkageRows *rows, int k, bool pinned, S2Vec2 arm, double impulse,
                     double *reaction) {
  S2Vec2 force = {rows->a.j[1][k], rows->a.j[2][k]};
  reaction[0] += pinned ? 0 : impulse * (rows->a.j[0][k] - s2_cross(arm, force));
  reaction[1] += impulse * force.x;
  reaction[2] += impulse * force.y;
}

static void add_joint(S2Linkage *linkage, int i) {
  const S2Step *step = linkage->step;
  const S2LinkageJoint *of = &linkage->joint[i];
  const S2Joint *joint = &step->world->joints.at[of->slot];
  bool pinned = !of->slides && joint->a != S2_NONE;
  bool armed = of->slides && joint->a != S2_NONE;
  S2Vec2 none = {0, 0};
  S2Vec2 start = armed ? s2_rotate(s2_rot(linkage->q0[3 * of->a]), of->local_a) : none;
  S2Vec2 end = armed ? s2_rotate(s2_rot(linkage->q1[3 * of->a]), of->local_a) : none;
  double first[3] = {0}, second[3] = {0};
  for (int k = 0; k < 2; k++) {
    int r = 2 * i + k;
    linkage->impulse[r] += linkage->l[r] + linkage->k[r];
    add_push(&linkage->at0[i], k, pinned, start, linkage->l[r], first);
    add_push(&linkage->at1[i], k, pinned, end, linkage->k[r], second);
  }
  for (int c = 0; c < 3; c++) {
    linkage->reaction[3 * i + c] += first[c] + second[c];
  }
  if (step->world->audit != NULL) { // copies, so that the sums may stay in registers
    const double halves[2][3] = {{first[0], first[1], first[2]}, {second[0], second[1], second[2]}};
    s2_audit_halves(step, joint, halves[0], halves[1], 0);
  }
}

// Writes the record of the piece, and returns its end. All rows are equations that hold.
static double *record_piece(const S2Linkage *linkage, double *to) {
  S2Arena *arena = linkage->step->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  double *held = S2_TAKE(arena, double, linkage->rows);
  for (int r = 0; r < linkage->rows; r++) {
    held[r] = S2_RATTLE_HELD;
  }
  S2RattleRecord record = {.h = linkage->h,
                           .done = linkage->done,
                           .met = S2_NONE,
                           .q0 = linkage->q0,
                           .v0 = linkage->v0,
                           .u = linkage->u,
                           .v1 = linkage->v1,
                           .l = linkage->l,
                           .k = linkage->k,
                           .first = held,
                           .second = held};
  s2_rattle_write_record(&record, linkage->nodes, linkage->rows, to);
  s2_arena_rewind(arena, mark);
  return to + s2_rattle_record_size(linkage->nodes, linkage->rows, false);
}

// Adds the piece to the sums and passes its motion to the audits.
static void add_piece(S2Linkage *linkage) {
  const S2Step *step = linkage->step;
  for (int i = 0; i < linkage->joints; i++) {
    add_joint(linkage, i);
  }
  for (int i = 0; i < linkage->nodes && step->world->audit != NULL; i++) {
    size_t at = 3 * (size_t)i;
    S2AuditFlight flight = {linkage->q0 + at, linkage->q1 + at, linkage->v0 + at, linkage->v1 + at,
                            linkage->u + at};
    s2_audit_flight(step, linkage->island->node[i], linkage->done + linkage->h, linkage->h, &flight,
                    false);
  }
}

// Starts the next piece, which has the same length, at the end of this one.
static void linkage_go_on(S2Linkage *linkage) {
  size_t size = sizeof(double) * 3 * (size_t)linkage->nodes;
  memcpy(linkage->q0, linkage->q1, size);
  memcpy(linkage->v0, linkage->v1, size);
  for (int r = 0; r < linkage->rows; r++) {
    linkage->l[r] = (linkage->l[r] + linkage->k[r]) / 2;
  }
  linkage->done += linkage->h;
  s2_linkage_measure(linkage, linkage->q0, linkage->at0);
}

// Starts the substep. Its guess is half of the impulses of the last step.
static void set_out(S2Linkage *linkage, const S2LawFrame *frame, int pieces) {
  const S2Step *step = linkage->step;
  for (int i = 0; i < linkage->nodes; i++) {
    int32_t slot = linkage->island->node[i];
    memcpy(linkage->q0 + 3 * i, frame->q + 3 * slot, 3 * sizeof(double));
    memcpy(linkage->v0 + 3 * i, frame->v + 3 * slot, 3 * sizeof(double));
  }
  linkage->h = step->dt / pieces;
  linkage->done = 0;
  double part = linkage->h / step->dt / 2;
  for (int i = 0; i < linkage->joints; i++) {
    const double *kept = step->joint_impulse + S2_JOINT_ROWS * linkage->joint[i].slot;
    linkage->l[2 * i] = isfinite(kept[0]) ? kept[0] * part : 0;
    linkage->l[2 * i + 1] = isfinite(kept[1]) ? kept[1] * part : 0;
  }
  memset(linkage->impulse, 0, sizeof(double) * (size_t)linkage->rows);
  memset(linkage->reaction, 0, sizeof(double) * 3 * (size_t)linkage->joints);
  linkage->worst = (S2Residual){0};
}

// Solves the substep in `pieces` pieces of equal length. `record`: room for all pieces, or NULL.
static Outcome linkage_pieces(S2Linkage *linkage, int pieces, double *record) {
  Outcome outcome = S2_LINKAGE_SOLVED;
  s2_audit_again(linkage->step, linkage->island);
  for (int i = 0; i < pieces && outcome == S2_LINKAGE_SOLVED; i++) {
    if (i > 0) {
      linkage_go_on(linkage);
    }
    outcome = linkage_piece(linkage, 2 * pieces > S2_RATTLE_PIECES);
    if (outcome == S2_LINKAGE_SOLVED) {
      add_piece(linkage);
      record = record == NULL ? NULL : record_piece(linkage, record);
    }
  }
  return outcome;
}

// ---- The substep -------------------------------------------------------------------------------

static int linkage_pieces_at_first(S2Linkage *linkage) {
  double stiff = sqrt(linkage->island->turning / S2_TURNS_TOO_FAST);
  memset(linkage->at1, 0, sizeof(S2LinkageRows) * (size_t)linkage->joints);
  double turn = s2_linkage_seen_turn(linkage, linkage->v0, linkage->step->dt);
  int pieces = 1;
  while (pieces < S2_RATTLE_PIECES && (pieces * S2_RATTLE_TURN < turn || pieces < stiff)) {
    pieces *= 2;
  }
  return pieces;
}

static void keep_end(const S2Linkage *linkage, const S2LawFrame *frame) {
  S2Step *step = linkage->step;
  for (int i = 0; i < 3 * linkage->nodes; i += 3) {
    int at = 3 * linkage->island->node[i / 3];
    for (int c = 0; c < 3; c++) {
      step->q1[at + c] = linkage->q1[i + c];
      step->v2[at + c] = linkage->v1[i + c];
      double mean = (linkage->q1[i + c] - frame->q[at + c]) / step->dt;
      step->v1[at + c] = step->carry[at + c] = mean;
    }
  }
  for (int i = 0; i < linkage->joints; i++) {
    int32_t slot = linkage->joint[i].slot;
    double *impulse = step->joint_impulse + S2_JOINT_ROWS * slot;
    memset(impulse, 0, sizeof(double) * S2_JOINT_ROWS);
    memcpy(impulse, linkage->impulse + 2 * i, 2 * sizeof(double));
    memcpy(step->joint_reaction + 3 * slot, linkage->reaction + 3 * i, 3 * sizeof(double));
  }
}

// m: the largest error of hinges at the end, or NAN if there are sliders.
static double pins_error(const S2Linkage *linkage) {
  double worst = 0;
  for (int i = 0; i < linkage->joints; i++) {
    double x = linkage->at1[i].value[0], y = linkage->at1[i].value[1];
    if (linkage->joint[i].slides) {
      return NAN;
    }
    worst = linkage_larger(worst, x * x + y * y);
  }
  return sqrt(worst);
}

static void linkage_account(const S2Linkage *linkage, int pieces) {
  S2WorldStats *stats = &linkage->step->world->stats;
  s2_rattle_certify(linkage->step, linkage->island, &linkage->worst);
  stats->iterations += (uint64_t)linkage->certified;
  stats->solves += 2 * (uint64_t)pieces;
  stats->used[S2_SOLVER_LINEAR] += 2 * (uint64_t)pieces;
  linkage->island->joint_error = pins_error(linkage);
}

bool s2_linkage_island(S2Step *step, S2Island *island, const S2LawFrame *frame) {
  S2Linkage *linkage = may_rest(step, island, frame) ? NULL : take_linkage(step, island);
  if (linkage == NULL) {
    return false;
  }
  set_out(linkage, frame, 1);
  set_accuracy(linkage);
  s2_linkage_measure(linkage, linkage->q0, linkage->at0);
  if (needs_placing(linkage)) {
    return false;
  }
  // Double the number of pieces until each piece is short enough.
  Outcome outcome = S2_LINKAGE_TOO_LONG;
  int pieces = linkage_pieces_at_first(linkage), rows = linkage->rows;
  double *record = NULL;
  for (int more = pieces; outcome == S2_LINKAGE_TOO_LONG && more <= S2_RATTLE_PIECES; more *= 2) {
    S2ArenaMark mark = s2_arena_mark(step->arena);
    pieces = more;
    if (step->world->notes != NULL) {
      record =
          S2_TAKE(step->arena, double, s2_rattle_record_size(linkage->nodes, rows, false) * pieces);
    }
    if (pieces > 1) {
      set_out(linkage, frame, pieces);
      s2_linkage_measure(linkage, linkage->q0, linkage->at0);
    }
    outcome = linkage_pieces(linkage, pieces, record);
    if (outcome == S2_LINKAGE_SOLVED && record != NULL) {
      S2RattleNote note = {.pieces = pieces, .rows = rows, .piece = record};
      s2_note_rattle(step, island, NULL, &note,
                     s2_rattle_record_size(linkage->nodes, rows, false) * pieces);
    }
    s2_arena_rewind(step->arena, mark);
  }
  if (outcome != S2_LINKAGE_SOLVED) {
    return false;
  }
  keep_end(linkage, frame);
  linkage_account(linkage, pieces);
  return true;
}
