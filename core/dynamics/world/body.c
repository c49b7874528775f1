// Creation, destruction and shapes of bodies.
#include "dynamics/world/world.h"

#include <stdio.h>
#include <string.h>

S2BodyDef s2_body_def(void) {
  return (S2BodyDef){
      .density = 1,
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) .member = default,
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  .member = default,
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  .member = default,
#include "dynamics/fields.def"
  };
}

void s2_body_label(const S2World *world, int32_t slot, char label[S2_NAME_SIZE + 8]) {
  if (slot == S2_NONE) {
    snprintf(label, S2_NAME_SIZE + 8, "the world");
  } else if (world->bodies.at[slot].name[0] != 0) {
    snprintf(label, S2_NAME_SIZE + 8, "'%s'", world->bodies.at[slot].name);
  } else {
    snprintf(label, S2_NAME_SIZE + 8, "#%d", s2_world_body_place(world, slot) + 1);
  }
}

int s2_world_body_place(const S2World *world, int32_t slot) {
  uint32_t serial = world->bodies.at[slot].serial;
  // The list is sorted by serial, so use bisection to find the body.
  int first = 0, last = world->order.count;
  while (first < last) {
    int middle = first + (last - first) / 2;
    if (world->bodies.at[world->order.at[middle]].serial < serial) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

// ---- Vertex blocks ----------------------------------------------------------------------------

// Returns k for a block of 2^k vertices. Free blocks form a list whose links are stored in the
// blocks.
static int vertex_class(int count) {
  int k = 0;
  while ((1 << k) < count) {
    k += 1;
  }
  return k;
}

static int32_t vertices_take(S2World *world, int count) {
  int k = vertex_class(count);
  // Take a free block. If there is none, append a block, which may enlarge the array.
  int32_t first = world->kept.free_vertices[k];
  if (first != S2_NONE) {
    world->kept.free_vertices[k] = (int32_t)world->vertices.at[first].x;
    return first;
  }
  first = world->vertices.count;
  int32_t size = (int32_t)1 << k;
  s2_array_reserve(world->vertices, first + size);
  memset(world->vertices.at + first, 0, sizeof(S2Vec2) * (size_t)size);
  world->vertices.count = first + size;
  return first;
}

static void vertices_give(S2World *world, int32_t first, int count) {
  int k = vertex_class(count);
  world->vertices.at[first].x = world->kept.free_vertices[k];
  world->kept.free_vertices[k] = first;
}

// ---- Creation ---------------------------------------------------------------------------------

// The sum of the masses of shapes. If no shape has an area, density times length replaces the mass.
typedef struct MassSum {
  double weight;  // in kg, or in kg/m if all shapes are bare segments
  double inertia; // moment of inertia of the weight about the centre
  S2Vec2 centre;
  bool solid; // true if a shape has an area
} MassSum;

static S2Shape def_shape(const S2ShapeDef *def) {
  return (S2Shape){
      .vertices = def->vertices,
      .count = def->count,
      .radius = def->radius,
      .has_previous = def->has_previous,
      .has_next = def->has_next,
      .previous = def->previous,
      .next = def->next,
  };
}

// Returns the extent of a shape. The weight of the shape is the density times the extent. For most
// shapes, the extent is the area. A bare segment has no area, so it weighs nothing in a body with
// solid shapes. A body that consists only of bare segments is a wire, and the extent of its
// segments is their length. This is the limit of equally thin capsules, and it does not depend on
// how the outline is divided.
static double piece_extent(const S2MassProperties *part, bool solid) {
  return solid ? part->area : part->length;
}

static double piece_density(const S2BodyDef *def, int i) {
  return isnan(def->shapes[i].density) ? def->density : def->shapes[i].density;
}

// Sums weight, centre and inertia over all pieces. Pieces without a density use the density of the
// body.
static MassSum sum_mass(const S2BodyDef *def) {
  MassSum sum = {0};
  for (int i = 0; i < def->shape_count && !sum.solid; i++) {
    S2Shape shape = def_shape(&def->shapes[i]);
    sum.solid = s2_shape_mass(&shape).area > 0;
  }
  // First compute the total weight and its centre.
  for (int i = 0; i < def->shape_count; i++) {
    S2Shape shape = def_shape(&def->shapes[i]);
    S2MassProperties part = s2_shape_mass(&shape);
    double weight = piece_density(def, i) * piece_extent(&part, sum.solid);
    sum.weight += weight;
    sum.centre = s2_add_scaled(sum.centre, weight, part.centre);
  }
  if (sum.weight > 0) {
    sum.centre = s2_scale(1 / sum.weight, sum.centre);
  }
  // Then compute the moment of inertia about that centre, using the parallel axis theorem for each
  // shape with a weight.
  for (int i = 0; i < def->shape_count; i++) {
    S2Shape shape = def_shape(&def->shapes[i]);
    S2MassProperties part = s2_shape_mass(&shape);
    double extent = piece_extent(&part, sum.solid);
    if (extent > 0) {
      double away2 = s2_length2(s2_sub(part.centre, sum.centre));
      sum.inertia += piece_density(def, i) * (part.inertia + extent * away2);
    }
  }
  return sum;
}

static S2Status check_number(const char *name, double value, double lo, bool open,
                             bool may_be_nan) {
  if (may_be_nan && isnan(value)) {
    return s2_ok();
  }
  if (!isfinite(value)) {
    return s2_error(S2_INVALID, "%s: finite number expected, got %g", name, value);
  }
  if (value < lo || (open && value <= lo)) {
    return s2_error(S2_INVALID, "%s: a number %s %g expected, got %g", name,
                    open ? "above" : "not below", lo, value);
  }
  return s2_ok();
}

static S2Status check_body_def(const S2BodyDef *def) {
  // Check the state, then the fields in fields.def, then the shapes.
  const double any = -INFINITY;
  S2_TRY(check_number("position", def->position.x, any, false, false));
  S2_TRY(check_number("position", def->position.y, any, false, false));
  S2_TRY(check_number("angle", def->angle, any, false, false));
  S2_TRY(check_number("velocity", def->velocity.x, any, false, false));
  S2_TRY(check_number("velocity", def->velocity.y, any, false, false));
  S2_TRY(check_number("angular_velocity", def->angular_velocity, any, false, false));
  S2_TRY(check_number("density", def->density, 0, true, false));
  S2_TRY(s2_fields_check(s2_body_fields, def));
  if (def->name != NULL && strlen(def->name) >= S2_NAME_SIZE) {
    return s2_error(S2_INVALID, "name: at most %d bytes expected, got %zu", S2_NAME_SIZE - 1,
                    strlen(def->name));
  }
  for (int i = 0; i < def->shape_count; i++) {
    const S2ShapeDef *piece = &def->shapes[i];
    S2Shape shape = def_shape(piece);
    S2_TRY(s2_shape_check(&shape));
    S2_TRY(check_number("friction", piece->friction, 0, false, true));
    S2_TRY(check_number("restitution", piece->restitution, 0, false, true));
    S2_TRY(check_number("density", piece->density, 0, true, true));
    if (piece->restitution > 1) {
      return s2_error(S2_INVALID, "restitution: a number from 0 to 1 expected, got %g",
                      piece->restitution);
    }
  }
  return s2_ok();
}

static int32_t body_slot_take(S2World *world) {
  int32_t slot = world->kept.free_body;
  if (slot != S2_NONE) {
    world->kept.free_body = world->bodies.at[slot].first_shape; // the link of the free list
    return slot;
  }
  // Append angle, x and y of position, velocity and force for a new slot.
  slot = s2_array_push(world->bodies);
  for (int k = 0; k < 3; k++) {
    *s2_array_append(world->q) = 0;
    *s2_array_append(world->v) = 0;
    *s2_array_append(world->f) = 0;
  }
  return slot;
}

static int piece_room(int count, bool joined) {
  return joined ? count * (1 + S2_SIDE_VERTICES) : count;
}

static void body_add_piece(S2World *world, int32_t slot, const S2ShapeDef *def, S2Vec2 centre,
                           const S2Side *sides, int32_t *link) {
  // Take a piece from the free list, or append a piece.
  int32_t p = world->kept.free_piece;
  if (p != S2_NONE) {
    world->kept.free_piece = world->pieces.at[p].next;
  } else {
    p = s2_array_push(world->pieces);
  }
  // Zero the whole piece first, because images contain its padding.
  S2Piece *piece = &world->pieces.at[p];
  memset(piece, 0, sizeof *piece);
  piece->body = slot;
  piece->next = S2_NONE;
  piece->joined = sides != NULL;
  piece->first_vertex = vertices_take(world, piece_room(def->count, piece->joined));
  piece->count = def->count;
  piece->radius = def->radius;
  piece->friction = def->friction;
  piece->restitution = def->restitution;
  piece->has_previous = def->has_previous;
  piece->has_next = def->has_next;
  // Shapes are defined relative to the body's origin and stored relative to its centre of mass.
  piece->previous = s2_sub(def->previous, centre);
  piece->next_vertex = s2_sub(def->next, centre);
  for (int k = 0; k < def->count; k++) {
    world->vertices.at[piece->first_vertex + k] = s2_sub(def->vertices[k], centre);
  }
  if (sides != NULL) {
    memcpy(world->vertices.at + piece->first_vertex + def->count, sides,
           sizeof *sides * (size_t)def->count);
  }
  // Append the piece after the body's last one, to keep the order of the definition.
  if (*link == S2_NONE) {
    world->bodies.at[slot].first_shape = p;
  } else {
    world->pieces.at[*link].next = p;
  }
  *link = p;
}

// Adds the shapes in order. Returns the largest distance (m) of a point of the shapes from the
// centre.
static double body_add_pieces(S2World *world, int32_t slot, const S2BodyDef *def, S2Vec2 centre) {
  S2ArenaMark mark = s2_arena_mark(&world->arena);
  S2Shape *shapes = S2_TAKE(&world->arena, S2Shape, def->shape_count);
  S2Side **sides = S2_TAKE(&world->arena, S2Side *, def->shape_count);
  for (int i = 0; i < def->shape_count; i++) {
    shapes[i] = def_shape(&def->shapes[i]);
  }
  s2_sides(shapes, def->shape_count, &world->arena, sides);
  int32_t link = S2_NONE;
  double reach = 0;
  for (int i = 0; i < def->shape_count; i++) {
    body_add_piece(world, slot, &def->shapes[i], centre, sides[i], &link);
    S2Shape shape = s2_piece_shape(world, &world->pieces.at[link]);
    reach = fmax(reach, s2_shape_reach(&shape));
  }
  s2_arena_rewind(&world->arena, mark);
  return reach;
}

S2Status s2_body_create(S2World *world, const S2BodyDef *def, S2BodyId *id) {
  *id = (S2BodyId){0, 0};
  S2_TRY(s2_world_idle(world));
  // Do all checks before the world changes.
  S2_TRY(check_body_def(def));
  MassSum sum = sum_mass(def);
  double mass = !isnan(def->mass) ? def->mass : sum.solid ? sum.weight : 0;
  // If a mass is specified, scale the inertia of the shapes to it. A wire needs a specified mass.
  double inertia = !isnan(def->inertia) ? def->inertia
                   : sum.weight > 0     ? sum.inertia * (mass / sum.weight)
                                        : 0;
  bool yields = isfinite(def->max_force) || isfinite(def->max_torque);
  if (yields && def->type != S2_KINEMATIC) {
    return s2_error(
        S2_INVALID,
        "%s: applies only to a kinematic body; for a dynamic body, use a lock with the same key",
        isfinite(def->max_force) ? "max_force" : "max_torque");
  }
  // A body that forces can move must have a mass and a moment of inertia.
  if ((def->type == S2_DYNAMIC || yields) && (!(mass > 0) || !(inertia > 0))) {
    return s2_error(S2_INVALID, "a %s needs %s",
                    yields ? "kinematic body that yields" : "dynamic body",
                    sum.weight > 0 ? "an area, or a mass" : "an area, or mass and inertia");
  }
  if (!isfinite(mass) || !isfinite(inertia)) {
    return s2_error(S2_INVALID, "mass: finite number expected, got %g (inertia %g)", mass, inertia);
  }
  // Fill the slot. All members in fields.def have the same names in both structures.
  int32_t slot = body_slot_take(world);
  S2Body *body = &world->bodies.at[slot];
  memset(body, 0, sizeof *body);
  *body = (S2Body){
      .serial = world->next_serial++,
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) .member = def->member,
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  .member = def->member,
#include "dynamics/fields.def"
      .first_shape = S2_NONE,
      .drive = S2_NONE,
      .first_link = S2_NONE,
  };
  body->mass = mass;
  body->inertia = inertia;
  snprintf(body->name, sizeof body->name, "%s", def->name == NULL ? "" : def->name);
  // The definition contains the position of the origin. The world stores the position of the centre
  // of mass.
  S2Vec2 position = s2_add(def->position, s2_rotate(s2_rot(def->angle), sum.centre));
  const double q[3] = {def->angle, position.x, position.y};
  const double v[3] = {def->angular_velocity, def->velocity.x, def->velocity.y};
  memcpy(world->q.at + 3 * slot, q, sizeof q);
  memcpy(world->v.at + 3 * slot, v, sizeof v);
  memset(world->f.at + 3 * slot, 0, 3 * sizeof(double));
  world->bodies.at[slot].reach = body_add_pieces(world, slot, def, sum.centre);
  // Serials ascend, so the newest body is at the end of the list.
  s2_line_insert(world->order, world->order.count);
  world->order.at[world->order.count - 1] = slot;
  world->boxes_stale = true;
  world->kept.fresh = true;
  s2_world_revised(world);
  if (yields) {
    s2_body_add_drive(world, slot, def->max_force, def->max_torque);
  }
  *id = s2_body_id(world, slot);
  return s2_ok();
}

// ---- Destruction ------------------------------------------------------------------------------

S2Status s2_body_destroy(S2World *world, S2BodyId id) {
  int32_t slot;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, id, &slot));
  // Remove the joints of the body, then its entries in all other arrays.
  while (world->bodies.at[slot].first_link != S2_NONE) {
    s2_joint_destroy_slot(world, world->bodies.at[slot].first_link / S2_JOINT_LINKS);
  }
  s2_world_include_all(world, slot);
  if (world->bodies.at[slot].enabled) {
    s2_world_drop_boxes(world, slot);
  }
  // Move the pieces and vertices of the body to the free lists.
  S2Body *body = &world->bodies.at[slot];
  for (int32_t p = body->first_shape; p != S2_NONE;) {
    S2Piece *piece = &world->pieces.at[p];
    int32_t next = piece->next;
    vertices_give(world, piece->first_vertex, piece_room(piece->count, piece->joined));
    memset(piece, 0, sizeof *piece);
    piece->body = S2_NONE;
    piece->next = world->kept.free_piece;
    world->kept.free_piece = p;
    p = next;
  }
  // Zero the body, except for the link of the free list. Images then contain no old data.
  s2_line_remove(world->order, s2_world_body_place(world, slot));
  memset(body, 0, sizeof *body);
  body->first_shape = world->kept.free_body;
  world->kept.free_body = slot;
  memset(world->q.at + 3 * slot, 0, 3 * sizeof(double));
  memset(world->v.at + 3 * slot, 0, 3 * sizeof(double));
  memset(world->f.at + 3 * slot, 0, 3 * sizeof(double));
  world->contacts_stale = true;
  s2_world_revised(world);
  return s2_ok();
}

// ---- Reading ----------------------------------------------------------------------------------

int s2_body_shape_count(const S2World *world, S2BodyId id) {
  int32_t slot;
  int count = 0;
  if (s2_body_slot(world, id, &slot).code == S2_OK) {
    int32_t p = world->bodies.at[slot].first_shape;
    for (; p != S2_NONE; p = world->pieces.at[p].next) {
      count += 1;
    }
  }
  return count;
}

S2Status s2_body_shape(const S2World *world, S2BodyId id, int index, S2Shape *shape) {
  int32_t slot;
  S2_TRY(s2_body_slot(world, id, &slot));
  int32_t p = world->bodies.at[slot].first_shape;
  for (int i = 0; i < index && p != S2_NONE; i++) {
    p = world->pieces.at[p].next;
  }
  if (index < 0 || p == S2_NONE) {
    return s2_error(S2_INVALID, "the body has no shape %d", index + 1);
  }
  *shape = s2_piece_shape(world, &world->pieces.at[p]);
  return s2_ok();
}

int s2_world_bodies(const S2World *world, S2BodyId *bodies, int capacity) {
  for (int i = 0; i < world->order.count && i < capacity; i++) {
    bodies[i] = s2_body_id(world, world->order.at[i]);
  }
  return world->order.count;
}

S2BodyId s2_world_body(const S2World *world, int index) {
  return index < 0 || index >= world->order.count ? (S2BodyId){0, 0}
                                                  : s2_body_id(world, world->order.at[index]);
}

S2Status s2_world_no_contact(S2World *world, S2BodyId a, S2BodyId b, bool forbidden) {
  int32_t slot_a, slot_b;
  S2_TRY(s2_world_idle(world));
  S2_TRY(s2_body_slot(world, a, &slot_a));
  S2_TRY(s2_body_slot(world, b, &slot_b));
  if (slot_a == slot_b) {
    return s2_error(S2_INVALID, "no_contact: two different bodies expected");
  }
  // Store the user's exclusion at most once. Exclusions by joints are separate and unchanged.
  s2_world_include(world, slot_a, slot_b, true);
  if (forbidden) {
    s2_world_exclude(world, slot_a, slot_b, true);
  }
  return s2_ok();
}
