// The numbers of a world. Each place identifies a number in the world and its derivative in an
// S2WorldGradient.
#ifndef S2_WORLD_FIELDS_H
#define S2_WORLD_FIELDS_H

#include "diff/world/world_gradient.h"

typedef enum S2PlaceKind {
  S2_PLACE_Q, // `slot` is a body, `number` 0 .. 2: angle, x, y
  S2_PLACE_V,
  S2_PLACE_F,
  S2_PLACE_BODY,    // `number` is an S2BodyNumber
  S2_PLACE_PIECE,   // radius, friction, restitution
  S2_PLACE_VERTEX,  // x, y
  S2_PLACE_JOINT,   // `number` is an S2JointNumber
  S2_PLACE_WORLD,   // `number` is an S2WorldNumber
  S2_PLACE_CONTACT, // `slot` is an index into S2WorldGradient.contact; the numbers are impulse,
                    // press, angular; not stored in the world
} S2PlaceKind;

typedef enum S2BodyNumber { // in the order of the members of S2BodyGradient
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) S2_OF_##ID,
#include "dynamics/fields.def"
  S2_BODY_NUMBERS
} S2BodyNumber;

typedef enum S2JointNumber {
  S2_OF_NOTHING = -1,
#define S2_JOINT_NUMBER(ID, member, type, array, count)                                            \
  S2_OF_##ID, S2_OF_##ID##_LAST = S2_OF_##ID + (count)-1,
#define S2_JOINT_WEIGHTS(ID, member) /* linear, angular, matrix */                                 \
  S2_OF_##ID, S2_OF_##ID##_LAST = S2_OF_##ID + 10,
#include "dynamics/fields.def"
  S2_JOINT_NUMBERS
} S2JointNumber;

typedef enum S2WorldNumber {
  S2_OF_NONE = -1,
  S2_OF_GRAVITY_X,
  S2_OF_GRAVITY_Y,
  S2_OF_DT,
  S2_OF_ALPHA,
  S2_OF_BETA,
  S2_OF_TIME,
} S2WorldNumber;

typedef struct S2Place {
  uint16_t kind, number;
  int32_t slot;
} S2Place;

static inline S2Place s2_place(S2PlaceKind kind, int32_t slot, int number) {
  return (S2Place){(uint16_t)kind, (uint16_t)number, slot};
}

double *s2_place_in(S2World *world, S2Place place);
double s2_place_value(const S2World *world, S2Place place);
double *s2_place_gradient(S2WorldGradient *gradient, S2Place place);

// Lists the places of all numbers of a joint, or of a body with its pieces and vertices. Writes at
// most `capacity` places and returns their total number. The order is the same for bodies that were
// created in the same way.
int s2_body_places(const S2World *world, int32_t slot, S2Place *places, int capacity);
int s2_joint_places(int32_t slot, S2Place *places, int capacity);

// Lists the places of the numbers in s2_world_state, in the same order.
void s2_state_places(const S2World *world, S2Place *places);
// Lists the places of all numbers on which energy and momentum depend. Writes at most `capacity`
// places.
int s2_energy_places(const S2World *world, S2Place *places, int capacity);
// Lists the places of the numbers in a joint's measures: poses, velocities and anchors.
enum { S2_MEASURE_PLACES = 3 * (12 + S2_OF_ANGLE0 + 1 + 5) };
int s2_measure_places(const S2World *world, int32_t slot, S2Place places[S2_MEASURE_PLACES]);

#endif
