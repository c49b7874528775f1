// The derivative of velocity feedback from projections (dynamics/project/project.c). Joint
// displacements change the velocities. They are scaled by a fraction so that no energy is added.
#include "diff/step/undo.h"
#include "dynamics/project/spin.h"

// ROUNDING is the rounding error of a sum, as a fraction of its terms. A fraction that is less
// certain than DOUBT counts as being at an edge.
static const double ROUNDING = 1e-14, DOUBT = 1e-7;
// If the relative uncertainty of the fraction exceeds this, the fraction has no correct digits, and
// no derivative. Otherwise the derivative has as many correct digits as the fraction. The
// derivative can be large even if the fraction is small. The energy room is the square of the
// impulse that joints take from the free motion. The velocity change is the root of the room, so it
// is proportional to that impulse.
static const double LOST = 0.1;

typedef struct Room { // the inequality a s^2 + b s <= room
  double a, b, room;
  double b_doubt, room_doubt; // rounding errors of a, b and room
  double b_left;              // if |b| is at most this, b is 0 within the tolerance of the solve
} Room;

static double feedback_largest_fraction(Room of) {
  double room = fmax(of.room, 0), root = sqrt(of.b * of.b + 4 * of.a * room);
  return of.a + of.b <= room ? 1 : of.b > 0 ? 2 * room / (of.b + root) : (root - of.b) / (2 * of.a);
}

// Returns the largest fraction after b and the room change by their rounding errors.
static double feedback_doubtful_fraction(Room of, double sign) {
  of.b -= sign * of.b_doubt;
  of.room += sign * of.room_doubt;
  return feedback_largest_fraction(of);
}

// Computes both energy rooms of harmless_fraction() in project.c. The first comes from the energy
// of the free motion, the second from the work of forces.
static void feedback_find_rooms(const S2Undo *undo, const S2Note *note, S2Vec2 frame,
                                Room room[2]) {
  const S2Step *step = &undo->step;
  const double ride[3] = {0, frame.x, frame.y};
  double of_b = 0, of_room = 0;
  room[0] = room[1] = (Room){0};
  // In the frame of the island's ground, add up the kinetic energy of v2 + s x/h minus that of v2.
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i / 3];
    const S2Body *body = &undo->world->bodies.at[slot];
    int at = 3 * slot + i % 3;
    double inertial = i % 3 == 0 ? body->inertia : body->mass;
    double v0 = step->v0[at] - ride[i % 3], v2 = step->v2[at] - ride[i % 3];
    double free_v = step->free_v[at] - ride[i % 3];
    double push = note->h * step->force[at] / 2, more = note->solve.x[i] / note->h;
    // The first room: the energy of the free motion minus the energy of v2.
    room[0].a += inertial * more * more / 2;
    room[0].b += inertial * v2 * more;
    room[0].room += inertial * (free_v * free_v - v2 * v2) / 2;
    // The second room: the energy of v0, plus the work of forces during the step at the mean speed,
    // minus the energy of v2.
    room[1].b += (inertial * v2 - push) * more;
    room[1].room += inertial * (v0 * v0 - v2 * v2) / 2 + push * (v0 + v2);
    // Sums of absolute values, for the rounding errors.
    of_b += (inertial * fabs(v2) + fabs(push)) * fabs(more);
    of_room += inertial * (v0 * v0 + free_v * free_v + v2 * v2) / 2;
  }
  // The quadratic term contains only the displacements, so it is the same in both rooms.
  room[1].a = room[0].a;
  for (int k = 0; k < 2; k++) {
    room[k].b_doubt = ROUNDING * of_b;
    room[k].b_left = (ROUNDING + undo->world->kept.def.tolerance) * of_b;
    room[k].room_doubt = ROUNDING * of_room;
  }
}

// Returns true if rigid joints connect the island to ground that may move (locks, kinematic
// bodies).
static bool feedback_stands_on_movers(const S2Undo *undo, const S2Island *island) {
  bool moves = false;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &undo->world->joints.at[island->joint[i]];
    const int32_t body[2] = {joint->a, joint->b};
    // These joints are rigid, apart from the spring of a hinge or slider.
    bool rigid = s2_joint_is_rigid(joint) ||
                 (joint->has_spring && (joint->type == S2_HINGE || joint->type == S2_SLIDER));
    for (int k = 0; k < 2 && rigid; k++) {
      moves |= joint->type == S2_LOCK ||
               (body[k] != S2_NONE && undo->world->bodies.at[body[k]].type == S2_KINEMATIC);
    }
  }
  return moves;
}

static bool feedback_is_nothing(const Room *room) { // within rounding
  return fabs(room->b) <= room->b_left && room->room < -room->room_doubt;
}

// Returns true if the energy room is at least 0 within rounding. A room of 0 becomes positive only
// if something begins to dissipate energy, such as a damper or friction that increases from 0.
static bool feedback_is_open(const Room *room) {
  return room->room >= -room->room_doubt;
}

// Returns the energy room that limits the fraction, or NULL if no room limits it or if the room is
// 0 for all data. Rigid joints displace bodies at right angles to the velocities that they allow.
// So b of the first room is 0 and stays 0, unless the ground moves the bodies. The second room is
// different. If its b is 0, as for bodies that all fall alike, the derivative of max(0, -b/a) is
// the mean of both sides.
static const Room *feedback_binding(S2Undo *undo, const S2Note *note, const Room rooms[2]) {
  double part = note->solve.fraction,
         of[2] = {feedback_largest_fraction(rooms[0]), feedback_largest_fraction(rooms[1])};
  const Room *room = &rooms[fabs(of[0] - part) <= fabs(of[1] - part) ? 0 : 1];
  bool other = false; // true if the derivative on the other side differs
  // The room is 0 for all data, unless the ground moves.
  if (feedback_is_nothing(&rooms[0])) {
    other = feedback_stands_on_movers(undo, &note->of->island);
    room = NULL;
  } else {
    // If both rooms limit the fraction, or rounding errors decide, the derivative on the other side
    // differs.
    bool both = fabs(of[0] - of[1]) <= DOUBT && part > 0 && part < 1;
    double doubt = feedback_doubtful_fraction(*room, 1) - feedback_doubtful_fraction(*room, -1);
    bool alike = part < DOUBT && feedback_is_nothing(room), linear = room->b > room->b_left;
    bool lost = part == 0 || doubt > LOST * part;
    // otherwise another bound reduced the fraction
    bool binds = part > 0 || room->room <= room->room_doubt;
    bool opens = linear && binds && feedback_is_open(room);
    other = both || (doubt > DOUBT && !alike);
    room = ((lost && !opens) || part == 1) && !alike ? NULL : room;
  }
  undo->gradient->flags |= other ? S2_GRADIENT_WEAK : 0;
  return room;
}

// Passes on the adjoint of the velocity of the island's ground, which s2_island_frame() computes.
static void feedback_frame_vjp(S2Undo *undo, const S2Note *note, const double ride_bar[3]) {
  const S2NoteIsland *of = note->of;
  for (int i = 0; i < of->grounds; i++) {
    for (int c = 1; c < 3 && of->ground[i] != S2_NONE; c++) {
      undo->bar.free_v[3 * of->ground[i] + c] += ride_bar[c] / of->grounds;
    }
  }
  for (int c = 1; c < 3 && of->grounds == 0; c++) {
    undo->bar.v0[3 * of->island.node[0] + c] += ride_bar[c];
  }
}

static void feedback_fraction_vjp(S2Undo *undo, const S2Note *note, double fraction_bar) {
  const S2Step *step = &undo->step;
  S2StepAdjoint *bar = &undo->bar;
  Room rooms[2];
  if (fraction_bar == 0) {
    return;
  }
  // Find the energy room that limits the fraction, in the frame of the island's ground.
  S2Vec2 frame = s2_island_frame(step, &note->of->island, note->of->ground, note->of->grounds);
  const double ride[3] = {0, frame.x, frame.y};
  double ride_bar[3] = {0};
  feedback_find_rooms(undo, note, frame, rooms);
  const Room *bound = feedback_binding(undo, note, rooms);
  if (bound == NULL) {
    return;
  }
  bool free_one = bound == &rooms[0], none = feedback_is_nothing(bound);
  Room room = *bound;
  // a s^2 + b s = room, so ds = (droom - s^2 da - s db)/(2 a s + b). If the room is 0, s is -b/a.
  double s = note->solve.fraction, slope = 2 * room.a * s + room.b,
         to = none ? 0 : fraction_bar / slope;
  double a_bar = -s * s * to, b_bar = none ? -fraction_bar / (2 * room.a) : -s * to;
  double room_bar = feedback_is_open(&room) ? to : 0;
  // Differentiate the sums in feedback_find_rooms term by term.
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int32_t slot = note->of->island.node[i / 3];
    const S2Body *body = &undo->world->bodies.at[slot];
    S2BodyGradient *g = &undo->gradient->body[slot];
    int at = 3 * slot + i % 3;
    double h = note->h, inertial = i % 3 == 0 ? body->inertia : body->mass;
    double v0 = step->v0[at] - ride[i % 3], v2 = step->v2[at] - ride[i % 3];
    double free_v = step->free_v[at] - ride[i % 3], v0_bar = 0, free_bar = 0;
    double push = free_one ? 0 : h * step->force[at] / 2, more = note->solve.x[i] / h;
    // Both rooms: a = m x^2/2 and b = (m v2 - push) x, where x is the displacement divided by h.
    double v2_bar = b_bar * inertial * more - room_bar * inertial * v2;
    double more_bar = a_bar * inertial * more + b_bar * (inertial * v2 - push);
    double weight = a_bar * more * more / 2 + b_bar * v2 * more, push_bar = 0;
    // The room is m (free_v^2 - v2^2)/2 or m (v0^2 - v2^2)/2 + push (v0 + v2).
    if (free_one) {
      free_bar = room_bar * inertial * free_v;
      weight += room_bar * (free_v * free_v - v2 * v2) / 2;
    } else {
      v0_bar = room_bar * (inertial * v0 + push);
      v2_bar += room_bar * push;
      weight += room_bar * (v0 * v0 - v2 * v2) / 2;
      push_bar = room_bar * (v0 + v2) - b_bar * more;
    }
    // Velocities are relative to the frame, and the push is h f/2.
    bar->v0[at] += v0_bar;
    bar->v2[at] += v2_bar;
    bar->free_v[at] += free_bar;
    ride_bar[i % 3] -= v0_bar + v2_bar + free_bar;
    bar->force[at] += push_bar * h / 2;
    bar->h += push_bar * step->force[at] / 2 - more_bar * more / h;
    undo->displaced[at] += more_bar / h;
    *(i % 3 == 0 ? &g->inertia : &g->mass) += weight;
  }
  feedback_frame_vjp(undo, note, ride_bar);
}

void s2_undo_feedback(S2Undo *undo, const S2Note *note) {
  double fraction_bar = 0, h = note->h;
  // v2 += s/h x, where x is the displacement by joints. Adjoints of x, s and h.
  for (int i = 0; i < 3 * note->of->island.nodes; i++) {
    int at = 3 * note->of->island.node[i / 3] + i % 3;
    double bar = undo->bar.v2[at];
    undo->step.v2[at] = note->solve.before[i];
    undo->displaced[at] = note->solve.fraction / h * bar;
    fraction_bar += bar * note->solve.x[i] / h;
    undo->bar.h -= note->solve.fraction * bar * note->solve.x[i] / (h * h);
  }
  // Earlier projections get the factor that scaled their impulses.
  for (int i = 0; i < note->of->island.joints; i++) {
    int32_t slot = note->of->island.joint[i];
    undo->feed[slot] = note->solve.fraction / h;
  }
  for (int r = 0; r < note->solve.rows; r++) { // part/h of these displacements went into the stored
                                               // impulses
    const S2ShakenRow *of = &note->of->shaken[r];
    double bar = s2_undo_impulse(undo, of->joint, of->row, of->push);
    fraction_bar += bar * note->of->lambda[r] / h;
    undo->bar.h -= note->solve.fraction * bar * note->of->lambda[r] / (h * h);
  }
  feedback_fraction_vjp(undo, note, fraction_bar);
}
