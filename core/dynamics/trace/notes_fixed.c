// Data that the notes of many steps share.
// These are settings, bodies, shapes and joints, which seldom change.
#include "dynamics/trace/notes.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { ALIGNMENT = 8 };

void s2_fixed_release(S2Fixed *fixed) {
  if (fixed != NULL && --fixed->users == 0) {
    s2_memory_free(fixed);
  }
}

static size_t fixed_bytes(const S2World *world) {
  return sizeof(S2Body) * (size_t)world->bodies.count +
         sizeof(int32_t) * (size_t)(world->order.count + world->joint_order.count) +
         sizeof(S2Piece) * (size_t)world->pieces.count +
         sizeof(S2Vec2) * (size_t)world->vertices.count +
         sizeof(S2Joint) * (size_t)world->joints.count;
}

static bool fixed_equal(const void *a, const void *b, size_t bytes) {
  return bytes == 0 || memcmp(a, b, bytes) == 0;
}

// Compares settings member by member, because the content of padding is undefined.
static bool fixed_same_def(const S2WorldDef *a, const S2WorldDef *b) {
  bool same = true;
#define S2_SETTING(member, type, default, domain, names, unit, derivative, meaning)                \
  same = same && fixed_equal(&a->member, &b->member, sizeof a->member);
#define S2_PROGRAM_SETTING(member, type, default, domain, names, unit, derivative, meaning)        \
  same = same && fixed_equal(&a->member, &b->member, sizeof a->member);
#include "dynamics/fields.def"
  return same;
}

// Compares joints. Members that steps change are skipped, because S2_ACT_SUBSTEP records them. The
// last members, from the links on, are also skipped, because no derivative depends on them.
static bool fixed_same_joint(const S2Joint *a, const S2Joint *b) {
#define LEFT_OUT(member)                                                                           \
  { offsetof(S2Joint, member), sizeof a->member }
  static const struct {
    size_t at, size;
  } left_out[] = {LEFT_OUT(goal),     LEFT_OUT(rate), LEFT_OUT(impulse), LEFT_OUT(reaction_time),
                  LEFT_OUT(reaction), LEFT_OUT(last), LEFT_OUT(pushed)};
#undef LEFT_OUT
  const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
  size_t from = 0;
  bool same = true;
  // Compare the bytes between the skipped members, which are listed in the order of their offsets.
  for (size_t i = 0; i < sizeof left_out / sizeof left_out[0] && same; i++) {
    assert(left_out[i].at >= from);
    same = fixed_equal(x + from, y + from, left_out[i].at - from);
    from = left_out[i].at + left_out[i].size;
  }
  return same && fixed_equal(x + from, y + from, offsetof(S2Joint, link) - from);
}

static bool fixed_same_joints(const S2Fixed *fixed, const S2World *world) {
  bool same = fixed->joints == world->joints.count;
  for (int i = 0; i < fixed->joints && same; i++) {
    same = fixed_same_joint(&fixed->joint[i], &world->joints.at[i]);
  }
  return same;
}

static bool fixed_still_holds(const S2Fixed *fixed, const S2World *world) {
  return fixed != NULL && fixed_same_def(&fixed->def, &world->kept.def) &&
         fixed_same_joints(fixed, world) && fixed->bodies == world->bodies.count &&
         fixed->order == world->order.count && fixed->pieces == world->pieces.count &&
         fixed->vertices == world->vertices.count &&
         fixed->joint_order == world->joint_order.count &&
         fixed_equal(fixed->body, world->bodies.at, sizeof(S2Body) * (size_t)fixed->bodies) &&
         fixed_equal(fixed->piece, world->pieces.at, sizeof(S2Piece) * (size_t)fixed->pieces) &&
         fixed_equal(fixed->vertex, world->vertices.at, sizeof(S2Vec2) * (size_t)fixed->vertices) &&
         fixed_equal(fixed->order_of, world->order.at, sizeof(int32_t) * (size_t)fixed->order) &&
         fixed_equal(fixed->joint_order_of, world->joint_order.at,
                     sizeof(int32_t) * (size_t)fixed->joint_order);
}

static void *fixed_put(unsigned char **at, const void *from, size_t bytes) {
  void *to = *at;
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  *at += bytes;
  return to;
}

// Creates the shared data. Arrays are in descending order of alignment, so they need no padding.
static S2Fixed *fixed_make(const S2World *world) {
  // Allocate one block of memory: the structure, followed by the arrays.
  size_t head = (sizeof(S2Fixed) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  size_t bytes = head + fixed_bytes(world);
  unsigned char *memory = s2_memory_take(bytes), *at = memory + head;
  S2Fixed *fixed = (S2Fixed *)(void *)memory;
  *fixed = (S2Fixed){.users = 1,
                     .bodies = world->bodies.count,
                     .order = world->order.count,
                     .pieces = world->pieces.count,
                     .vertices = world->vertices.count,
                     .joints = world->joints.count,
                     .joint_order = world->joint_order.count,
                     .bytes = bytes,
                     .def = world->kept.def};
  fixed->joint = fixed_put(&at, world->joints.at, sizeof(S2Joint) * (size_t)fixed->joints);
  fixed->body = fixed_put(&at, world->bodies.at, sizeof(S2Body) * (size_t)fixed->bodies);
  fixed->piece = fixed_put(&at, world->pieces.at, sizeof(S2Piece) * (size_t)fixed->pieces);
  fixed->vertex = fixed_put(&at, world->vertices.at, sizeof(S2Vec2) * (size_t)fixed->vertices);
  fixed->order_of = fixed_put(&at, world->order.at, sizeof(int32_t) * (size_t)fixed->order);
  fixed->joint_order_of =
      fixed_put(&at, world->joint_order.at, sizeof(int32_t) * (size_t)fixed->joint_order);
  return fixed;
}

S2Fixed *s2_fixed_of(S2World *world) {
  // The world also counts as a user of its latest data.
  if (!fixed_still_holds(world->fixed, world)) {
    s2_fixed_release(world->fixed);
    world->fixed = fixed_make(world);
  }
  world->fixed->users += 1;
  return world->fixed;
}
