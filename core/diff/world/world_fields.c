#include "diff/world/world_fields.h"

#include "dynamics/joints/joint.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

typedef struct Pair { // byte offsets of a number in both structures
  uint16_t world, gradient;
} Pair;

// Byte offsets of number i of a field and of its gradient, which has the same name.
#define OF(Type, field, i)                                                                         \
  {                                                                                                \
    offsetof(S2##Type, field) + (i) * sizeof(double),                                              \
        offsetof(S2##Type##Gradient, field) + (i) * sizeof(double)                                 \
  }
// PAIRS_n lists n numbers of a joint's field.
#define PAIRS_1(field) OF(Joint, field, 0)
#define PAIRS_2(field) PAIRS_1(field), OF(Joint, field, 1)
#define PAIRS_3(field) PAIRS_2(field), OF(Joint, field, 2)
#define PAIRS_8(field)                                                                             \
  PAIRS_3(field), OF(Joint, field, 3), OF(Joint, field, 4), OF(Joint, field, 5),                   \
      OF(Joint, field, 6), OF(Joint, field, 7)
#define PAIRS_9(field) PAIRS_8(field), OF(Joint, field, 8)

static const Pair body_pairs[] = {
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) OF(Body, member, 0),
#include "dynamics/fields.def"
};

// NOLINTBEGIN(bugprone-macro-parentheses) : members, not expressions
static const Pair joint_pairs[] = {
#define S2_JOINT_NUMBER(ID, member, type, array, count) PAIRS_##count(member),
#define S2_JOINT_WEIGHTS(ID, member)                                                               \
  PAIRS_1(member.linear), PAIRS_1(member.angular), PAIRS_9(member.matrix),
#include "dynamics/fields.def"
};
// NOLINTEND(bugprone-macro-parentheses)
_Static_assert(sizeof joint_pairs / sizeof joint_pairs[0] == S2_JOINT_NUMBERS, "as S2JointNumber");
_Static_assert((int)S2_JOINT_ROWS == S2_OF_IMPULSE_LAST - S2_OF_IMPULSE + 1, "one a row");

static const Pair piece_pairs[] = {OF(Piece, radius, 0), OF(Piece, friction, 0),
                                   OF(Piece, restitution, 0)};

enum { PIECE_NUMBERS = sizeof piece_pairs / sizeof piece_pairs[0] };

static double *place_at(void *base, size_t offset) {
  return (double *)(void *)((unsigned char *)base + offset);
}

double *s2_place_in(S2World *world, S2Place place) {
  int32_t slot = place.slot, number = place.number;
  if (place.kind != S2_PLACE_Q && place.kind != S2_PLACE_V && place.kind != S2_PLACE_F) {
    s2_world_changed(world); // because the caller may write to this place
  }
  switch ((S2PlaceKind)place.kind) {
  case S2_PLACE_Q:
    return &world->q.at[3 * slot + number];
  case S2_PLACE_V:
    return &world->v.at[3 * slot + number];
  case S2_PLACE_F:
    return &world->f.at[3 * slot + number];
  case S2_PLACE_BODY:
    return place_at(&world->bodies.at[slot], body_pairs[number].world);
  case S2_PLACE_PIECE:
    return place_at(&world->pieces.at[slot], piece_pairs[number].world);
  case S2_PLACE_VERTEX:
    return number == 0 ? &world->vertices.at[slot].x : &world->vertices.at[slot].y;
  case S2_PLACE_JOINT:
    return place_at(&world->joints.at[slot], joint_pairs[number].world);
  case S2_PLACE_WORLD:
  case S2_PLACE_CONTACT:
    break;
  }
  // Contact impulses are not stored in the world.
  assert(place.kind == S2_PLACE_WORLD);
  S2WorldDef *def = &world->kept.def;
  double *const numbers[] = {&def->gravity.x, &def->gravity.y, &def->dt,
                             &def->alpha,     &def->beta,      &world->kept.time};
  return numbers[number];
}

double s2_place_value(const S2World *world, S2Place place) {
  return *s2_place_in((S2World *)world, place); // this does not change the world
}

double *s2_place_gradient(S2WorldGradient *gradient, S2Place place) {
  int32_t slot = place.slot, number = place.number;
  switch ((S2PlaceKind)place.kind) {
  case S2_PLACE_Q:
    return &gradient->q[3 * slot + number];
  case S2_PLACE_V:
    return &gradient->v[3 * slot + number];
  case S2_PLACE_F:
    return &gradient->f[3 * slot + number];
  case S2_PLACE_BODY:
    return place_at(&gradient->body[slot], body_pairs[number].gradient);
  case S2_PLACE_PIECE:
    return place_at(&gradient->piece[slot], piece_pairs[number].gradient);
  case S2_PLACE_VERTEX:
    return number == 0 ? &gradient->vertex[slot].x : &gradient->vertex[slot].y;
  case S2_PLACE_JOINT:
    return place_at(&gradient->joint[slot], joint_pairs[number].gradient);
  case S2_PLACE_CONTACT: {
    S2ContactGradient *contact = &gradient->contact[slot];
    double *const of_contact[] = {&contact->impulse.x, &contact->impulse.y, &contact->press.x,
                                  &contact->press.y,   &contact->angular_a, &contact->angular_b};
    return of_contact[number];
  }
  case S2_PLACE_WORLD:
    break;
  }
  // in the order of S2WorldNumber
  double *const numbers[] = {&gradient->gravity.x, &gradient->gravity.y, &gradient->dt,
                             &gradient->alpha,     &gradient->beta,      &gradient->time};
  return numbers[number];
}

static int place_add(S2Place *places, int capacity, int count, S2Place place) {
  if (count < capacity) {
    places[count] = place;
  }
  return count + 1;
}

int s2_body_places(const S2World *world, int32_t slot, S2Place *places, int capacity) {
  int count = 0;
  // The state, forces and fields of the body.
  for (int k = 0; k < 3; k++) {
    count = place_add(places, capacity, count, s2_place(S2_PLACE_Q, slot, k));
    count = place_add(places, capacity, count, s2_place(S2_PLACE_V, slot, k));
    count = place_add(places, capacity, count, s2_place(S2_PLACE_F, slot, k));
  }
  for (int i = 0; i < S2_BODY_NUMBERS; i++) {
    count = place_add(places, capacity, count, s2_place(S2_PLACE_BODY, slot, i));
  }
  // The lock that drives the body, if there is one.
  int32_t drive = world->bodies.at[slot].drive; // the lock is created together with the body
  for (int i = 0; i < S2_JOINT_NUMBERS && drive != S2_NONE; i++) {
    count = place_add(places, capacity, count, s2_place(S2_PLACE_JOINT, drive, i));
  }
  // The shapes of the body.
  for (int32_t p = world->bodies.at[slot].first_shape; p != S2_NONE; p = world->pieces.at[p].next) {
    const S2Piece *piece = &world->pieces.at[p];
    for (int i = 0; i < PIECE_NUMBERS; i++) {
      count = place_add(places, capacity, count, s2_place(S2_PLACE_PIECE, p, i));
    }
    for (int i = 0; i < piece->count; i++) {
      count =
          place_add(places, capacity, count, s2_place(S2_PLACE_VERTEX, piece->first_vertex + i, 0));
      count =
          place_add(places, capacity, count, s2_place(S2_PLACE_VERTEX, piece->first_vertex + i, 1));
    }
  }
  return count;
}

int s2_joint_places(int32_t slot, S2Place *places, int capacity) {
  int count = 0;
  for (int i = 0; i < S2_JOINT_NUMBERS; i++) {
    count = place_add(places, capacity, count, s2_place(S2_PLACE_JOINT, slot, i));
  }
  return count;
}

void s2_state_places(const S2World *world, S2Place *places) {
  int count = 0;
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    for (int k = 0; k < 6 && s2_body_yields(&world->bodies.at[slot]); k++) {
      places[count++] = s2_place(k < 3 ? S2_PLACE_Q : S2_PLACE_V, slot, k % 3);
    }
  }
}

int s2_energy_places(const S2World *world, S2Place *places, int capacity) {
  static const S2BodyNumber numbers[] = {S2_OF_MASS, S2_OF_INERTIA, S2_OF_GRAVITY_SCALE};
  int count = place_add(places, capacity, 0, s2_place(S2_PLACE_WORLD, 0, S2_OF_GRAVITY_X));
  count = place_add(places, capacity, count, s2_place(S2_PLACE_WORLD, 0, S2_OF_GRAVITY_Y));
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    for (int k = 0; k < 3; k++) {
      count = place_add(places, capacity, count, s2_place(S2_PLACE_Q, slot, k));
      count = place_add(places, capacity, count, s2_place(S2_PLACE_V, slot, k));
      count = place_add(places, capacity, count, s2_place(S2_PLACE_BODY, slot, (int)numbers[k]));
    }
  }
  for (int i = 0; i < world->joint_order.count; i++) {
    for (int k = 0; k < S2_OF_REACTION; k++) {
      count =
          place_add(places, capacity, count, s2_place(S2_PLACE_JOINT, world->joint_order.at[i], k));
    }
  }
  return count;
}

static int place_add_new(S2Place *places, int count, S2Place place) {
  for (int i = 0; i < count; i++) {
    if (places[i].kind == place.kind && places[i].number == place.number &&
        places[i].slot == place.slot) {
      return count;
    }
  }
  places[count] = place;
  return count + 1;
}

int s2_measure_places(const S2World *world, int32_t slot, S2Place places[S2_MEASURE_PLACES]) {
  const S2Joint *joint = &world->joints.at[slot];
  bool gear = joint->type == S2_GEAR;
  const int32_t slots[3] = {slot, joint->joint_a, joint->joint_b};
  int count = 0;
  for (int i = 0; i < (gear ? 3 : 1); i++) {
    const S2Joint *of = &world->joints.at[slots[i]];
    const int32_t bodies[2] = {of->a, of->b};
    for (int k = 0; k < 12; k++) {
      if (bodies[k / 6] != S2_NONE) {
        count = place_add_new(places, count,
                              s2_place(k % 6 < 3 ? S2_PLACE_Q : S2_PLACE_V, bodies[k / 6], k % 3));
      }
    }
    for (int number = 0; number <= S2_OF_ANGLE0; number++) {
      count = place_add_new(places, count, s2_place(S2_PLACE_JOINT, slots[i], number));
    }
    // The length of a rope depends on its ratio and on its points on the ground.
    if (s2_joint_kind(of->type)->way != NULL) {
      count = place_add_new(places, count, s2_place(S2_PLACE_JOINT, slots[i], S2_OF_RATIO));
      for (int number = S2_OF_GROUND_A; number <= S2_OF_GROUND_B_LAST; number++) {
        count = place_add_new(places, count, s2_place(S2_PLACE_JOINT, slots[i], number));
      }
    }
  }
  return count;
}
