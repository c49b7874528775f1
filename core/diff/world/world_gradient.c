#include "diff/world/world_gradient.h"

#include "dynamics/world/world.h"

#include <string.h>

static void *gradient_grown(void *at, int had, int wanted, size_t item) {
  if (wanted <= had) {
    return at;
  }
  unsigned char *bytes = s2_memory_grow(at, (size_t)wanted * item);
  memset(bytes + (size_t)had * item, 0, (size_t)(wanted - had) * item);
  return bytes;
}

static void gradient_fit(S2WorldGradient *g, int slots, int pieces, int vertices, int joints) {
  g->q = gradient_grown(g->q, g->slots, slots, 3 * sizeof(double));
  g->v = gradient_grown(g->v, g->slots, slots, 3 * sizeof(double));
  g->f = gradient_grown(g->f, g->slots, slots, 3 * sizeof(double));
  g->body = gradient_grown(g->body, g->slots, slots, sizeof *g->body);
  g->piece = gradient_grown(g->piece, g->pieces, pieces, sizeof *g->piece);
  g->vertex = gradient_grown(g->vertex, g->vertices, vertices, sizeof *g->vertex);
  g->joint = gradient_grown(g->joint, g->joints, joints, sizeof *g->joint);
  g->slots = slots > g->slots ? slots : g->slots;
  g->pieces = pieces > g->pieces ? pieces : g->pieces;
  g->vertices = vertices > g->vertices ? vertices : g->vertices;
  g->joints = joints > g->joints ? joints : g->joints;
}

void s2_world_gradient_fit(S2WorldGradient *g, const S2World *world) {
  gradient_fit(g, world->bodies.count, world->pieces.count, world->vertices.count,
               world->joints.count);
}

int s2_world_gradient_contact(S2WorldGradient *g, int32_t shape_a, int32_t shape_b,
                              uint32_t feature) {
  for (int i = 0; i < g->contacts; i++) {
    const S2ContactGradient *at = &g->contact[i];
    if (at->shape_a == shape_a && at->shape_b == shape_b && at->feature == feature) {
      return i;
    }
  }
  // Capacities are powers of two, so the array is full if the count is a power of two.
  if ((g->contacts & (g->contacts - 1)) == 0) {
    size_t capacity = g->contacts == 0 ? 1 : 2 * (size_t)g->contacts;
    g->contact = s2_memory_grow(g->contact, capacity * sizeof *g->contact);
  }
  g->contact[g->contacts] =
      (S2ContactGradient){.shape_a = shape_a, .shape_b = shape_b, .feature = feature};
  return g->contacts++;
}

void s2_contact_gradient_clear(S2ContactGradient *contact) {
  *contact = (S2ContactGradient){
      .shape_a = contact->shape_a, .shape_b = contact->shape_b, .feature = contact->feature};
}

static void *gradient_copied(void *to, const void *from, size_t bytes) {
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  return to;
}

#define COPY(arena, Type, from, count)                                                             \
  gradient_copied(S2_TAKE(arena, Type, count), from, (size_t)(count) * sizeof(Type))

S2WorldGradient *s2_world_gradient_like(const S2WorldGradient *gradient, S2Arena *arena) {
  size_t slots = (size_t)gradient->slots;
  S2WorldGradient *like = S2_TAKE_ZEROED(arena, S2WorldGradient, 1);
  like->slots = gradient->slots;
  like->pieces = gradient->pieces;
  like->vertices = gradient->vertices;
  like->joints = gradient->joints;
  like->tracked = gradient->tracked;
  like->q = S2_TAKE_ZEROED(arena, double, 3 * slots);
  like->v = S2_TAKE_ZEROED(arena, double, 3 * slots);
  like->f = S2_TAKE_ZEROED(arena, double, 3 * slots);
  like->body = S2_TAKE_ZEROED(arena, S2BodyGradient, slots);
  like->piece = S2_TAKE_ZEROED(arena, S2PieceGradient, gradient->pieces);
  like->vertex = S2_TAKE_ZEROED(arena, S2Vec2, gradient->vertices);
  like->joint = S2_TAKE_ZEROED(arena, S2JointGradient, gradient->joints);
  return like;
}

S2WorldGradient *s2_world_gradient_copy(const S2WorldGradient *gradient, S2Arena *arena) {
  S2WorldGradient *copy = S2_TAKE(arena, S2WorldGradient, 1);
  size_t slots = (size_t)gradient->slots;
  *copy = *gradient;
  copy->tape = NULL;
  copy->q = COPY(arena, double, gradient->q, 3 * slots);
  copy->v = COPY(arena, double, gradient->v, 3 * slots);
  copy->f = COPY(arena, double, gradient->f, 3 * slots);
  copy->body = COPY(arena, S2BodyGradient, gradient->body, slots);
  copy->piece = COPY(arena, S2PieceGradient, gradient->piece, gradient->pieces);
  copy->vertex = COPY(arena, S2Vec2, gradient->vertex, gradient->vertices);
  copy->joint = COPY(arena, S2JointGradient, gradient->joint, gradient->joints);
  copy->contact = NULL; // the array may grow
  copy->contacts = 0;
  for (int i = 0; i < gradient->contacts; i++) {
    const S2ContactGradient *from = &gradient->contact[i];
    int to = s2_world_gradient_contact(copy, from->shape_a, from->shape_b, from->feature);
    copy->contact[to] = *from;
  }
  return copy;
}

static void gradient_add(void *to, const void *from, int count, size_t item) {
  double *a = to;
  const double *b = from;
  size_t numbers = (size_t)count * item / sizeof(double);
  for (size_t i = 0; i < numbers; i++) {
    a[i] += b[i];
  }
}

// The structures of a gradient contain only doubles.
_Static_assert(sizeof(S2BodyGradient) % sizeof(double) == 0, "doubles alone");
_Static_assert(sizeof(S2PieceGradient) % sizeof(double) == 0, "doubles alone");
_Static_assert(sizeof(S2JointGradient) % sizeof(double) == 0, "doubles alone");

void s2_world_gradient_add(S2WorldGradient *g, const S2WorldGradient *other) {
  gradient_fit(g, other->slots, other->pieces, other->vertices, other->joints);
  gradient_add(g->q, other->q, other->slots, 3 * sizeof(double));
  gradient_add(g->v, other->v, other->slots, 3 * sizeof(double));
  gradient_add(g->f, other->f, other->slots, 3 * sizeof(double));
  gradient_add(g->body, other->body, other->slots, sizeof *g->body);
  gradient_add(g->piece, other->piece, other->pieces, sizeof *g->piece);
  gradient_add(g->vertex, other->vertex, other->vertices, sizeof *g->vertex);
  gradient_add(g->joint, other->joint, other->joints, sizeof *g->joint);
  for (int i = 0; i < other->contacts; i++) {
    const S2ContactGradient *from = &other->contact[i];
    int to = s2_world_gradient_contact(g, from->shape_a, from->shape_b, from->feature);
    S2ContactGradient *at = &g->contact[to];
    at->impulse = s2_add(at->impulse, from->impulse);
    at->press = s2_add(at->press, from->press);
    at->angular_a += from->angular_a;
    at->angular_b += from->angular_b;
  }
  g->gravity = s2_add(g->gravity, other->gravity);
  g->dt += other->dt;
  g->alpha += other->alpha;
  g->beta += other->beta;
  g->time += other->time;
  g->flags |= other->flags;
}

static void gradient_zero(void *at, int count, size_t item) {
  if (count > 0) {
    memset(at, 0, (size_t)count * item);
  }
}

void s2_world_gradient_clear(S2WorldGradient *g) {
  gradient_zero(g->q, g->slots, 3 * sizeof(double));
  gradient_zero(g->v, g->slots, 3 * sizeof(double));
  gradient_zero(g->f, g->slots, 3 * sizeof(double));
  gradient_zero(g->body, g->slots, sizeof *g->body);
  gradient_zero(g->piece, g->pieces, sizeof *g->piece);
  gradient_zero(g->vertex, g->vertices, sizeof *g->vertex);
  gradient_zero(g->joint, g->joints, sizeof *g->joint);
  for (int i = 0; i < g->contacts; i++) {
    s2_contact_gradient_clear(&g->contact[i]);
  }
  g->gravity = s2_vec2(0, 0);
  g->dt = g->alpha = g->beta = g->time = 0;
  g->flags = 0;
}

void s2_world_gradient_free(S2WorldGradient *g) {
  s2_memory_free(g->q);
  s2_memory_free(g->v);
  s2_memory_free(g->f);
  s2_memory_free(g->body);
  s2_memory_free(g->piece);
  s2_memory_free(g->vertex);
  s2_memory_free(g->joint);
  s2_memory_free(g->contact);
  *g = (S2WorldGradient){0};
}
