// Constructors of bodies: world:circle{...}, box, polygon, capsule, segment, compound, chain.
//
// All memory of a definition is allocated in the world's scratch arena, so an error does not leak
// it.
#include "lua/diff/array.h"
#include "lua/diff/on_tape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const common_keys[] = {"position", "angle", "velocity", "angular_velocity",
                                          "density",
#define S2_BODY_NUMBER(ID, member, default, domain, most, unit, meaning) #member,
#define S2_BODY_BOUND(ID, member, default, domain, most, unit, meaning)  #member,
#define S2_BODY_MARK(ID, member, type, default, domain, names, meaning)  #member,
#include "dynamics/fields.def"
                                          "name",     "data",  NULL};

// Keys of a shape inside a compound, in addition to the keys of its kind.
static const char *const piece_keys[] = {"position",    "angle",   "friction",
                                         "restitution", "density", NULL};

static const char *const circle_keys[] = {"radius", NULL};
static const char *const box_keys[] = {"size", "radius", NULL};
static const char *const polygon_keys[] = {"vertices", "hull", NULL};
static const char *const capsule_keys[] = {"length", "radius", NULL};
static const char *const segment_keys[] = {"from", "to", NULL};
static const char *const compound_keys[] = {"shapes", NULL};
static const char *const chain_keys[] = {"points", "loop", NULL};
static const char *const any_shape_keys[] = {"radius", "size", "vertices", "hull",
                                             "length", "from", "to",       NULL};

// ---- Shapes -----------------------------------------------------------------------------------

typedef struct Shapes {
  S2ShapeDef *at;
  int count, capacity;
} Shapes;

static S2ShapeDef *add_shape(S2Arena *arena, Shapes *shapes, const S2Vec2 *vertices, int count,
                             double radius) {
  // The list doubles in size. The old list remains in the arena until the next reset.
  if (shapes->count == shapes->capacity) {
    int capacity = shapes->capacity == 0 ? 8 : 2 * shapes->capacity;
    S2ShapeDef *grown = S2_TAKE(arena, S2ShapeDef, capacity);
    if (shapes->count > 0) {
      memcpy(grown, shapes->at, sizeof *grown * (size_t)shapes->count);
    }
    shapes->at = grown;
    shapes->capacity = capacity;
  }
  S2ShapeDef *shape = &shapes->at[shapes->count++];
  // NAN means that the shape uses the value of the body.
  *shape = (S2ShapeDef){.vertices = vertices,
                        .count = count,
                        .radius = radius,
                        .friction = (double)NAN,
                        .restitution = (double)NAN,
                        .density = (double)NAN};
  return shape;
}

typedef struct ShapeReader {
  const S2Keys *keys;
  S2Arena *arena;
  Shapes *shapes;
} ShapeReader;

static void read_circle(const ShapeReader *reader) {
  double radius = 0;
  s2_keys_require(reader->keys, "radius");
  s2_keys_number(reader->keys, "radius", S2_POSITIVE, &radius);
  S2Vec2 *centre = S2_TAKE_ZEROED(reader->arena, S2Vec2, 1);
  add_shape(reader->arena, reader->shapes, centre, 1, radius);
}

// `size` is the full size, including the rounded corners.
static void read_box(const ShapeReader *reader) {
  S2Vec2 size = {0, 0};
  double radius = 0;
  // The core polygon is smaller than the full size by the radius on each side.
  s2_keys_require(reader->keys, "size");
  s2_keys_vec2(reader->keys, "size", &size);
  s2_keys_number(reader->keys, "radius", S2_NON_NEGATIVE, &radius);
  if (size.x <= 0 || size.y <= 0) {
    s2_keys_fail(reader->keys, "size", "two positive numbers expected, got {%.14g, %.14g}", size.x,
                 size.y);
  }
  if (2 * radius >= fmin(size.x, size.y)) {
    s2_keys_fail(reader->keys, "radius",
                 "less than half the shorter side (%.14g) expected, got %.14g",
                 fmin(size.x, size.y) / 2, radius);
  }
  // Corners of the core, counter-clockwise.
  double x = size.x / 2 - radius, y = size.y / 2 - radius;
  S2Vec2 *corners = S2_TAKE(reader->arena, S2Vec2, 4);
  corners[0] = s2_vec2(-x, -y);
  corners[1] = s2_vec2(x, -y);
  corners[2] = s2_vec2(x, y);
  corners[3] = s2_vec2(-x, y);
  add_shape(reader->arena, reader->shapes, corners, 4, radius);
}

// `length` is the distance between the centres of the two caps, along the body's x axis.
static void read_capsule(const ShapeReader *reader) {
  double length = 0, radius = 0;
  s2_keys_require(reader->keys, "length");
  s2_keys_require(reader->keys, "radius");
  s2_keys_number(reader->keys, "length", S2_POSITIVE, &length);
  s2_keys_number(reader->keys, "radius", S2_POSITIVE, &radius);
  S2Vec2 *ends = S2_TAKE(reader->arena, S2Vec2, 2);
  ends[0] = s2_vec2(-length / 2, 0);
  ends[1] = s2_vec2(length / 2, 0);
  add_shape(reader->arena, reader->shapes, ends, 2, radius);
}

static void read_segment(const ShapeReader *reader) {
  S2Vec2 *ends = S2_TAKE_ZEROED(reader->arena, S2Vec2, 2);
  // Both ends are required, because there is no natural default.
  s2_keys_require(reader->keys, "from");
  s2_keys_require(reader->keys, "to");
  s2_keys_vec2(reader->keys, "from", &ends[0]);
  s2_keys_vec2(reader->keys, "to", &ends[1]);
  add_shape(reader->arena, reader->shapes, ends, 2, 0);
}

// Reads a list of at least `least` points under `key`.
static S2Vec2 *read_points(const ShapeReader *reader, const char *key, int least, int *count) {
  const S2Keys *keys = reader->keys;
  lua_State *L = keys->L;
  char text[S2_LUA_TEXT];
  // The value is a list or a sim2d array.
  s2_keys_require(keys, key);
  if (s2_keys_push(keys, key) != LUA_TTABLE && s2_lua_array_test(L, -1) == NULL) {
    s2_keys_fail(keys, key, "list of points expected, got %s", s2_lua_describe(L, -1, text));
  }
  // Check the number of points before allocating memory.
  lua_Integer n = luaL_len(L, -1);
  if (n < least || n > INT32_MAX) {
    s2_keys_fail(keys, key, "at least %d points expected, got %lld", least, (long long)n);
  }
  S2Vec2 *points = S2_TAKE(reader->arena, S2Vec2, n);
  // Error messages give the number of the point.
  for (int i = 0; i < (int)n; i++) {
    S2Complaint complaint;
    lua_geti(L, -1, i + 1);
    if (!s2_value_vec2(L, -1, &points[i], &complaint)) {
      s2_keys_fail(keys, key, "point %d: %.200s", i + 1, complaint.text);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  *count = (int)n;
  return points;
}

static void read_polygon(const ShapeReader *reader) {
  int count;
  bool hull = false;
  S2Vec2 *points = read_points(reader, "vertices", 3, &count);
  s2_keys_boolean(reader->keys, "hull", &hull);
  // The convex hull of the points is a single shape.
  if (hull) {
    S2Vec2 *outer = S2_TAKE(reader->arena, S2Vec2, count);
    int size = s2_hull(points, count, outer);
    if (size < 3) {
      s2_keys_fail(reader->keys, "vertices", "the points lie on one line");
    }
    add_shape(reader->arena, reader->shapes, outer, size, 0);
    return;
  }
  // Any other polygon is decomposed into convex pieces.
  S2Pieces pieces;
  S2Status status = s2_decompose(points, count, reader->arena, &pieces);
  if (status.code != S2_OK) {
    s2_keys_fail(reader->keys, "vertices", "%s", status.message);
  }
  for (int i = 0; i < pieces.count; i++) {
    add_shape(reader->arena, reader->shapes, pieces.vertices[i], pieces.sizes[i], 0);
  }
}

// Reads segments between consecutive points. Each segment stores the neighbouring points, so that
// bodies that slide over a shared point do not catch on it.
static void read_chain(const ShapeReader *reader) {
  int count;
  bool loop = false;
  s2_keys_boolean(reader->keys, "loop", &loop);
  S2Vec2 *points = read_points(reader, "points", loop ? 3 : 2, &count);
  // A loop has an additional segment from the last point to the first.
  int segments = loop ? count : count - 1;
  for (int i = 0; i < segments; i++) {
    S2Vec2 *ends = S2_TAKE(reader->arena, S2Vec2, 2);
    ends[0] = points[i];
    ends[1] = points[(i + 1) % count];
    if (ends[0].x == ends[1].x && ends[0].y == ends[1].y) {
      s2_keys_fail(reader->keys, "points", "points %d and %d are the same", i + 1,
                   (i + 1) % count + 1);
    }
    // The neighbouring points are in the list. An open chain has none beyond its ends.
    S2ShapeDef *shape = add_shape(reader->arena, reader->shapes, ends, 2, 0);
    shape->has_previous = loop || i > 0;
    shape->has_next = loop || i + 2 < count;
    shape->previous = points[(i + count - 1) % count];
    shape->next = points[(i + 2) % count];
  }
}

// ---- Compounds --------------------------------------------------------------------------------

// Transforms the shapes from index `first` into the frame of the compound.
static void shapes_place(const Shapes *shapes, int first, S2Pose pose, S2Arena *arena) {
  for (int i = first; i < shapes->count; i++) {
    S2ShapeDef *shape = &shapes->at[i];
    // The vertices are const, so the shape gets a transformed copy.
    S2Vec2 *placed = S2_TAKE(arena, S2Vec2, shape->count);
    for (int k = 0; k < shape->count; k++) {
      placed[k] = s2_pose_point(pose, shape->vertices[k]);
    }
    shape->vertices = placed;
  }
}

// Reads a shape whose keys determine its kind. {size = } is a box, {vertices = } a polygon, {from =
// , to = } a segment, {length = , radius = } a capsule, and {radius = } a circle.
static void read_piece(const ShapeReader *reader, int number) {
  static const struct {
    const char *key;
    const char *const *keys;
    void (*read)(const ShapeReader *reader);
  } kinds[] = {{"size", box_keys, read_box},
               {"vertices", polygon_keys, read_polygon},
               {"from", segment_keys, read_segment},
               {"length", capsule_keys, read_capsule},
               {"radius", circle_keys, read_circle}};
  char scope[S2_KEYS_SCOPE];
  // The first of these keys that is present determines the kind. `radius` is last, because other
  // kinds also have it.
  snprintf(scope, sizeof scope, "shapes[%d].", number);
  S2Keys any = s2_keys_inner(reader->keys, scope, any_shape_keys, piece_keys);
  size_t kind = 0;
  while (kind < sizeof kinds / sizeof kinds[0] && !s2_keys_has(&any, kinds[kind].key)) {
    kind++;
  }
  // None of the keys is present.
  if (kind == sizeof kinds / sizeof kinds[0]) {
    s2_keys_fail(reader->keys, "shapes",
                 "shape %d needs one of size, vertices, from and to, length, radius", number);
    return;
  }
  // The kind is known, so reject keys of other kinds.
  S2Keys keys = s2_keys_inner(reader->keys, scope, kinds[kind].keys, piece_keys);
  ShapeReader inner = {&keys, reader->arena, reader->shapes};
  int first = reader->shapes->count;
  kinds[kind].read(&inner);
  // Read the pose of the shape in the compound, and its materials.
  S2Vec2 position = {0, 0};
  double angle = 0, friction = (double)NAN, restitution = (double)NAN, density = (double)NAN;
  s2_keys_vec2(&keys, "position", &position);
  s2_keys_number(&keys, "angle", S2_ANY_NUMBER, &angle);
  s2_keys_number(&keys, "friction", S2_NON_NEGATIVE, &friction);
  s2_keys_number(&keys, "restitution", S2_NON_NEGATIVE, &restitution);
  s2_keys_number(&keys, "density", S2_POSITIVE, &density);
  // A polygon may consist of several shapes, which all get the same pose and materials.
  shapes_place(reader->shapes, first, s2_pose(angle, position.x, position.y), reader->arena);
  for (int i = first; i < reader->shapes->count; i++) {
    reader->shapes->at[i].friction = friction;
    reader->shapes->at[i].restitution = restitution;
    reader->shapes->at[i].density = density;
  }
}

static void read_compound(const ShapeReader *reader) {
  lua_State *L = reader->keys->L;
  char text[S2_LUA_TEXT];
  s2_keys_require(reader->keys, "shapes");
  if (s2_keys_push(reader->keys, "shapes") != LUA_TTABLE) {
    s2_keys_fail(reader->keys, "shapes", "list of shapes expected, got %s",
                 s2_lua_describe(L, -1, text));
  }
  // Read the shapes. Error messages give their numbers.
  lua_Integer count = luaL_len(L, -1);
  if (count == 0) {
    s2_keys_fail(reader->keys, "shapes", "at least 1 shape expected");
  }
  for (int i = 1; i <= (int)count; i++) {
    if (lua_geti(L, -1, i) != LUA_TTABLE) {
      s2_keys_fail(reader->keys, "shapes", "shape %d: table expected, got %s", i,
                   s2_lua_describe(L, -1, text));
    }
    read_piece(reader, i);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

// ---- Bodies -----------------------------------------------------------------------------------

static void read_body(const S2Keys *keys, S2BodyDef *def) {
  // Read the state and the name, then all numbers of fields.def in a loop.
  s2_keys_vec2(keys, "position", &def->position);
  s2_keys_number(keys, "angle", S2_ANY_NUMBER, &def->angle);
  s2_keys_vec2(keys, "velocity", &def->velocity);
  s2_keys_number(keys, "angular_velocity", S2_ANY_NUMBER, &def->angular_velocity);
  s2_keys_name(keys, "name", &def->name);
  if (s2_keys_number(keys, "density", S2_POSITIVE, &def->density) && s2_keys_has(keys, "mass")) {
    s2_keys_fail(keys, "density", "either mass or density expected, not both");
  }
  for (const S2Field *field = s2_body_fields; field->name != NULL; field++) {
    s2_lua_field_key(keys, field, def);
  }
}

// Describes how to read the definition of a body from the arguments of the running function.
typedef struct Recipe {
  const S2Keys *keys;
  S2Arena *arena;
  void (*read)(const ShapeReader *);
  S2BodyType type;
  int begin; // result of s2_lua_writes
} Recipe;

static S2BodyDef body_read_recipe(const Recipe *recipe) {
  // Read all arguments at each call, because a difference quotient shifts one number.
  s2_arena_reset(recipe->arena);
  Shapes shapes = {0};
  ShapeReader reader = {recipe->keys, recipe->arena, &shapes};
  recipe->read(&reader);
  S2BodyDef def = s2_body_def();
  def.type = recipe->type;
  read_body(recipe->keys, &def);
  def.shapes = shapes.at;
  def.shape_count = shapes.count;
  return def;
}

static S2Status body_build_again(void *user, S2World *world, int which, double by) {
  const Recipe *recipe = user;
  S2BodyId id;
  // Create the same body in a copy of the world, with a shift of one tracked number in its
  // definition.
  s2_lua_tracked_shift(recipe->keys->L, recipe->begin, which, by);
  S2BodyDef def = body_read_recipe(recipe);
  return s2_body_create(world, &def, &id);
}

static int body_create(lua_State *L, const char *const *own_keys, void (*read)(const ShapeReader *),
                       S2BodyType type) {
  S2LuaWorld *lw = s2_lua_world(L, 1);
  lua_settop(L, 2);
  // Read the definition and record its tracked numbers.
  S2Keys keys = s2_keys_open(L, 2, false, own_keys, common_keys, 0);
  Recipe recipe = {.keys = &keys, .arena = &lw->scratch, .read = read, .type = type};
  recipe.begin = s2_lua_writes(L, lw);
  S2BodyDef def = body_read_recipe(&recipe);
  // Create the object first, because nothing may fail once the body exists.
  S2LuaBody *body = s2_lua_new_body(L, 1);
  S2BodyId id;
  S2Status status = s2_body_create(lw->world, &def, &id);
  // The message of the engine refers to the given table.
  if (status.code == S2_INVALID) {
    return s2_lua_bad_argument(L, 2, "%s", status.message);
  }
  s2_lua_try(L, status);
  s2_lua_world_changed(lw);
  s2_lua_bind_body(L, 1, body, id);
  s2_lua_hint_degrees(L, lw, "angle", def.angle);
  s2_lua_hint_static_mass(L, lw, &def);
  s2_lua_made(L, lw, recipe.begin, false, (int32_t)id.index - 1, body_build_again, &recipe);
  // Store the script's data of the body.
  if (s2_keys_push(&keys, "data") != LUA_TNIL) {
    lua_getiuservalue(L, 1, S2_STORE_DATA);
    lua_insert(L, -2);
    lua_rawseti(L, -2, id.serial);
  }
  lua_pop(L, 1);
  return 1;
}

static int world_circle(lua_State *L) {
  return body_create(L, circle_keys, read_circle, S2_DYNAMIC);
}

static int world_box(lua_State *L) {
  return body_create(L, box_keys, read_box, S2_DYNAMIC);
}

static int world_polygon(lua_State *L) {
  return body_create(L, polygon_keys, read_polygon, S2_DYNAMIC);
}

static int world_capsule(lua_State *L) {
  return body_create(L, capsule_keys, read_capsule, S2_DYNAMIC);
}

static int world_segment(lua_State *L) {
  return body_create(L, segment_keys, read_segment, S2_STATIC);
}

static int world_compound(lua_State *L) {
  return body_create(L, compound_keys, read_compound, S2_DYNAMIC);
}

static int world_chain(lua_State *L) {
  return body_create(L, chain_keys, read_chain, S2_STATIC);
}

const luaL_Reg s2_world_create_methods[] = {
    {"circle", world_circle},   {"box", world_box},
    {"polygon", world_polygon}, {"capsule", world_capsule},
    {"segment", world_segment}, {"compound", world_compound},
    {"chain", world_chain},     {NULL, NULL}};
