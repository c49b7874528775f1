// The scenes in sim2d: with the default settings of a world, without kept islands at rest, with
// convex contact, and with a budget.
#include "peers/engine.h"

#include "bench.h"

#include <math.h>

typedef struct Sim2dWorld {
  S2World *world;
  S2BodyId *body;
  int bodies;
} Sim2dWorld;

static S2BodyId sim2d_body(S2World *world, const PeerScene *scene, const PeerBody *of) {
  double w = of->half[0], h = of->half[1];
  const S2Vec2 corners[4] = {{-w, -h}, {w, -h}, {w, h}, {-w, h}}, centre = {0, 0};
  S2ShapeDef shape = {.vertices = of->radius > 0 ? &centre : corners,
                      .count = of->radius > 0 ? 1 : 4,
                      .radius = of->radius,
                      .friction = NAN,
                      .restitution = NAN,
                      .density = NAN};
  // A moving body has the mass of the scene, which is that of its shape at the same density.
  S2BodyDef def = s2_body_def();
  def.type = of->mass > 0 ? S2_DYNAMIC : S2_STATIC;
  def.position = s2_vec2(of->x, of->y);
  def.angle = of->angle;
  if (of->mass > 0) {
    def.mass = of->mass;
    def.inertia = of->inertia;
  }
  def.friction = scene->friction;
  def.restitution = 0;
  def.mask = scene->collides ? UINT32_MAX : 0;
  def.shapes = &shape;
  def.shape_count = 1;
  S2BodyId id;
  must(s2_body_create(world, &def, &id));
  return id;
}

static const double BUDGET = 0.05; // s a step, of the fourth

static void *build_with(const PeerScene *scene, S2ContactModel contact, double budget) {
  Sim2dWorld *it = take(1, sizeof *it);
  S2WorldDef def = s2_world_def();
  def.contact = contact;
  def.budget = budget;
  def.gravity = s2_vec2(0, scene->gravity);
  def.dt = scene->dt;
  must(s2_world_create(&def, &it->world));
  it->bodies = scene->bodies;
  it->body = take((size_t)scene->bodies, sizeof *it->body);
  for (int i = 0; i < scene->bodies; i++) {
    it->body[i] = sim2d_body(it->world, scene, &scene->body[i]);
  }
  for (int i = 0; i < scene->hinges; i++) {
    const PeerHinge *hinge = &scene->hinge[i];
    S2JointDef joint = s2_joint_def(S2_HINGE);
    joint.a = it->body[hinge->a];
    joint.b = hinge->b < 0 ? (S2BodyId){0, 0} : it->body[hinge->b];
    joint.anchor_a = s2_vec2(hinge->x, hinge->y);
    S2JointId id;
    must(s2_joint_create(it->world, &joint, &id));
  }
  return it;
}

static void *sim2d_build(const PeerScene *scene) {
  return build_with(scene, S2_COULOMB, INFINITY);
}

// With a callback for each contact, no island is kept: all of them are stepped.
static bool stepped_ask(void *user, S2World *world, S2PreContact *contact) {
  (void)user, (void)world, (void)contact;
  return true;
}

static void *stepped_build(const PeerScene *scene) {
  Sim2dWorld *it = build_with(scene, S2_COULOMB, INFINITY);
  s2_world_set_callbacks(it->world, &(S2Callbacks){.pre_solve = stepped_ask});
  return it;
}

static void *convex_build(const PeerScene *scene) {
  return build_with(scene, S2_CONVEX, INFINITY);
}

static void *budget_build(const PeerScene *scene) {
  return build_with(scene, S2_COULOMB, BUDGET * S2_WORK_RATE);
}

static void sim2d_step(void *world) {
  Sim2dWorld *it = world;
  must(s2_world_step(it->world));
}

static void sim2d_look(void *world, PeerMotion *motion) {
  Sim2dWorld *it = world;
  for (int i = 0; i < it->bodies; i++) {
    double q[3], v[3];
    must(s2_body_q(it->world, it->body[i], q));
    must(s2_body_v(it->world, it->body[i], v));
    motion[i] = (PeerMotion){q[1], q[2], q[0], v[1], v[2], v[0]};
  }
}

static PeerVerdict sim2d_judge(void *world) {
  Sim2dWorld *it = world;
  const S2WorldStats *stats = s2_world_stats(it->world);
  return (PeerVerdict){stats->worst_scaled, stats->unsolved};
}

static void sim2d_end(void *world) {
  Sim2dWorld *it = world;
  s2_world_destroy(it->world);
  free(it->body);
  free(it);
}

#define SIM2D_ENGINE(label, how)                                                                   \
  {                                                                                                \
    .name = (label), .version = s2_version, .build = (how), .step = sim2d_step,                    \
    .look = sim2d_look, .judge = sim2d_judge, .end = sim2d_end                                     \
  }
const PeerEngine peer_sim2d = SIM2D_ENGINE("sim2d", sim2d_build);
const PeerEngine peer_stepped = SIM2D_ENGINE("stepped", stepped_build);
const PeerEngine peer_convex = SIM2D_ENGINE("convex", convex_build);
const PeerEngine peer_budget = SIM2D_ENGINE("budget", budget_build);
