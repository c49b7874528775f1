// Acts on bodies and joints with derivatives in closed form.
#include "diff/world/world_tape.h"

#include "dynamics/joints/joint.h"

void s2_world_tape_push(S2WorldTape *tape, const S2World *world, int32_t slot, bool impulse,
                        const double push[4], bool at, int arguments, const S2Argument *argument) {
  enum { MOST = 2 * 4 + 2 + 3 };
  const S2Body *body = &world->bodies.at[slot];
  if (impulse && !s2_body_yields(body)) {
    return; // does nothing
  }
  // For impulses, dv = push/m and dw = (arm x push + torque)/I. For forces, m and I are omitted.
  const double *q = world->q.at + 3 * slot;
  const double arm[2] = {at ? push[2] - q[1] : 0, at ? push[3] - q[2] : 0};
  const double turn[4] = {-arm[1], arm[0], push[1], -push[0]}; // torque of the push
  double inertia = impulse ? body->inertia : 1, mass = impulse ? body->mass : 1;
  S2PlaceKind kind = impulse ? S2_PLACE_V : S2_PLACE_F;
  S2Place places[3];
  S2Term terms[MOST];
  int used = 0;
  for (int k = 0; k < 3; k++) {
    places[k] = s2_place(kind, slot, k);
  }
  // Add terms for the arguments: the push, its point and the torque.
  for (int i = 0; i < arguments; i++) {
    int which = argument[i].which;
    if (at) {
      terms[used++] = (S2Term){.to = 0, .from = argument[i].var, .factor = turn[which] / inertia};
    }
    if (which < 2) {
      terms[used++] = (S2Term){.to = 1 + which, .from = argument[i].var, .factor = 1 / mass};
    }
  }
  // Add terms for the centre's position, because arm = point - centre.
  for (int k = 1; k < 3 && at; k++) {
    terms[used++] = (S2Term){
        .to = 0, .source = s2_place(S2_PLACE_Q, slot, k), .factor = -turn[k + 1] / inertia};
  }
  if (impulse) {
    // Add terms for inertia and mass.
    double torque = arm[0] * push[1] - arm[1] * push[0];
    S2Place at_inertia = s2_place(S2_PLACE_BODY, slot, S2_OF_INERTIA);
    S2Place at_mass = s2_place(S2_PLACE_BODY, slot, S2_OF_MASS);
    terms[used++] =
        (S2Term){.to = 0, .source = at_inertia, .factor = -torque / (inertia * inertia)};
    terms[used++] = (S2Term){.to = 1, .source = at_mass, .factor = -push[0] / (mass * mass)};
    terms[used++] = (S2Term){.to = 2, .source = at_mass, .factor = -push[1] / (mass * mass)};
  }
  s2_world_tape_add(tape, world, 3, places, used, terms);
}

S2Var s2_world_tape_point(S2WorldTape *tape, const S2World *world, int32_t slot, bool back,
                          const double point[2], int arguments, const S2Argument *argument) {
  enum { MOST = 2 * (3 + 2) };
  const double *q = world->q.at + 3 * slot;
  S2Rot turn = s2_rot(q[0]);
  // R p + x, or the reverse R'(p - x)
  const double r[2][2] = {{turn.c, back ? turn.s : -turn.s}, {back ? -turn.s : turn.s, turn.c}};
  const double by_angle[2] = {back ? point[1] : -(point[1] - q[2]),
                              back ? -point[0] : point[0] - q[1]};
  S2Term terms[MOST];
  int used = 0;
  // Add terms for the pose and for the point itself.
  for (int i = 0; i < 2; i++) {
    terms[used++] =
        (S2Term){.to = i, .source = s2_place(S2_PLACE_Q, slot, 0), .factor = by_angle[i]};
    for (int k = 0; k < 2; k++) {
      terms[used++] = (S2Term){.to = i,
                               .source = s2_place(S2_PLACE_Q, slot, 1 + k),
                               .factor = back ? -r[i][k] : (double)(i == k)};
    }
    for (int k = 0; k < arguments; k++) {
      terms[used++] = (S2Term){.to = i, .from = argument[k].var, .factor = r[i][argument[k].which]};
    }
  }
  return s2_world_tape_read(tape, world, 2, point, used, terms);
}

// Setting the state clears the data that joints stored in the last step.
void s2_world_tape_set_state(S2WorldTape *tape, const S2World *world, int arguments,
                             const S2Argument *argument) {
  int size = s2_world_state_size(world), count = size;
  int most = size + S2_JOINT_ROWS * world->joints.count;
  S2Place *places = s2_memory_take(sizeof *places * (size_t)(most + 1));
  S2Term *terms = s2_memory_take(sizeof *terms * (size_t)(arguments + 1));
  // Poses and velocities are arguments, impulses are constants.
  s2_state_places(world, places);
  for (int i = 0; i < world->joints.count; i++) {
    for (int k = 0; k < S2_JOINT_ROWS; k++) {
      places[count++] = s2_place(S2_PLACE_JOINT, i, S2_OF_IMPULSE + k);
    }
  }
  for (int i = 0; i < arguments; i++) {
    terms[i] = (S2Term){.to = argument[i].which, .from = argument[i].var, .factor = 1};
  }
  s2_world_tape_write(tape, world, count, places, arguments, terms);
  s2_memory_free(places);
  s2_memory_free(terms);
}

// The angles or displacements of the joints of a gear.
static void world_coordinates(const void *user, const S2World *world, double *numbers) {
  const S2Joint *gear = &world->joints.at[*(const int32_t *)user];
  const int32_t slots[2] = {gear->joint_a, gear->joint_b};
  for (int i = 0; i < 2; i++) {
    S2JointRow row;
    const S2Joint *joint = &world->joints.at[slots[i]];
    S2JointAt at = {world, joint, world->q.at, 0, NULL};
    s2_joint_kind(joint->type)->coordinate(&at, &row, NULL);
    numbers[i] = row.value;
  }
}

void s2_world_tape_ratio(S2WorldTape *tape, S2World *world, int32_t slot, S2Var ratio) {
  S2Place places[S2_MEASURE_PLACES];
  double both[2];
  int count = s2_measure_places(world, slot, places);
  S2Var node = s2_world_tape_measure(tape, world, 2, both, world_coordinates, &slot, count, places);
  // Compute sum = c_a + ratio c_b again.
  const S2Place wrote[2] = {s2_place(S2_PLACE_JOINT, slot, S2_OF_RATIO),
                            s2_place(S2_PLACE_JOINT, slot, S2_OF_SUM)};
  S2Term terms[4];
  int used = 0;
  if (ratio != 0) {
    terms[used++] = (S2Term){.to = 0, .from = ratio, .factor = 1};
    terms[used++] = (S2Term){.to = 1, .from = ratio, .factor = both[1]};
  }
  for (int i = 0; i < 2 && node != 0; i++) {
    double factor = i == 0 ? 1 : world->joints.at[slot].ratio;
    terms[used++] = (S2Term){.to = 1, .from = node, .index = i, .factor = factor};
  }
  s2_world_tape_write(tape, world, 2, wrote, used, terms);
}

void s2_world_tape_enabled(S2WorldTape *tape, const S2World *world, int32_t slot) {
  enum { GOALS = 3, REACTION = 3 };
  const S2Joint *joint = &world->joints.at[slot];
  S2Place places[S2_JOINT_ROWS + REACTION + GOALS];
  S2Term terms[GOALS];
  int count = 0, used = 0;
  // Impulses and reactions begin at 0.
  for (int i = 0; i < S2_JOINT_ROWS; i++) {
    places[count++] = s2_place(S2_PLACE_JOINT, slot, S2_OF_IMPULSE + i);
  }
  for (int i = 0; i < REACTION; i++) {
    places[count++] = s2_place(S2_PLACE_JOINT, slot, S2_OF_REACTION + i);
  }
  // The goal of a lock is the pose of its body.
  for (int c = 0; c < GOALS && joint->type == S2_LOCK && joint->enabled; c++) {
    terms[used++] = (S2Term){.to = count, .source = s2_place(S2_PLACE_Q, joint->a, c), .factor = 1};
    places[count++] = s2_place(S2_PLACE_JOINT, slot, S2_OF_GOAL + c);
  }
  s2_world_tape_write(tape, world, count, places, used, terms);
}

bool s2_world_has_soft_contacts(const S2World *world) {
  bool has = false;
  for (int i = 0; i < world->touches.count; i++) {
    has |= s2_touch_soft(&world->touches.at[i]);
  }
  return has;
}
