// The scenes in Box2D 3: 4 substeps, its default, and its other defaults, except for sleeping.
#include "peers/engine.h"

#ifdef S2_HAVE_BOX2D3
#include "bench.h"

#include <box2d/box2d.h>
#include <math.h>

enum { SUBSTEPS = 4 };

typedef struct Box2d3World {
  b2WorldId world;
  b2BodyId *body;
  int bodies;
  float dt;
} Box2d3World;

static b2BodyId box2d3_body(b2WorldId world, const PeerScene *scene, const PeerBody *of) {
  b2BodyDef def = b2DefaultBodyDef();
  def.type = of->mass > 0 ? b2_dynamicBody : b2_staticBody;
  def.position = (b2Vec2){(float)of->x, (float)of->y};
  def.rotation = b2MakeRot((float)of->angle);
  b2BodyId body = b2CreateBody(world, &def);
  b2ShapeDef shape = b2DefaultShapeDef();
  shape.density = 1;
  shape.material.friction = (float)scene->friction; // of a pair: the geometric mean
  shape.material.restitution = 0;
  shape.filter.maskBits = scene->collides ? B2_DEFAULT_MASK_BITS : 0;
  if (of->radius > 0) {
    b2Circle disc = {.radius = (float)of->radius};
    (void)b2CreateCircleShape(body, &shape, &disc);
  } else {
    b2Polygon box = b2MakeBox((float)of->half[0], (float)of->half[1]);
    (void)b2CreatePolygonShape(body, &shape, &box);
  }
  if (of->mass > 0) {
    b2MassData own = {.mass = (float)of->mass, .rotationalInertia = (float)of->inertia};
    b2Body_SetMassData(body, own);
  }
  return body;
}

static void *box2d3_build(const PeerScene *scene) {
  Box2d3World *it = take(1, sizeof *it);
  b2WorldDef def = b2DefaultWorldDef();
  def.gravity = (b2Vec2){0, (float)scene->gravity};
  def.enableSleep = false;
  it->world = b2CreateWorld(&def);
  it->dt = (float)scene->dt;
  it->bodies = scene->bodies;
  it->body = take((size_t)scene->bodies, sizeof *it->body);
  for (int i = 0; i < scene->bodies; i++) {
    it->body[i] = box2d3_body(it->world, scene, &scene->body[i]);
  }
  b2BodyDef nothing = b2DefaultBodyDef();
  b2BodyId ground = scene->hinges > 0 ? b2CreateBody(it->world, &nothing) : b2_nullBodyId;
  for (int i = 0; i < scene->hinges; i++) {
    const PeerHinge *hinge = &scene->hinge[i];
    b2Vec2 at = {(float)hinge->x, (float)hinge->y};
    b2RevoluteJointDef joint = b2DefaultRevoluteJointDef();
    joint.bodyIdA = it->body[hinge->a];
    joint.bodyIdB = hinge->b < 0 ? ground : it->body[hinge->b];
    joint.localAnchorA = b2Body_GetLocalPoint(joint.bodyIdA, at);
    joint.localAnchorB = b2Body_GetLocalPoint(joint.bodyIdB, at);
    (void)b2CreateRevoluteJoint(it->world, &joint);
  }
  return it;
}

static void box2d3_step(void *world) {
  Box2d3World *it = world;
  b2World_Step(it->world, it->dt, SUBSTEPS);
}

static void box2d3_look(void *world, PeerMotion *motion) {
  Box2d3World *it = world;
  for (int i = 0; i < it->bodies; i++) {
    b2Vec2 at = b2Body_GetPosition(it->body[i]), v = b2Body_GetLinearVelocity(it->body[i]);
    motion[i] = (PeerMotion){at.x, at.y, b2Rot_GetAngle(b2Body_GetRotation(it->body[i])),
                             v.x,  v.y,  b2Body_GetAngularVelocity(it->body[i])};
  }
}

static void box2d3_end(void *world) {
  Box2d3World *it = world;
  b2DestroyWorld(it->world);
  free(it->body);
  free(it);
}

static const char *box2d3_version(void) {
  static char text[48];
  b2Version version = b2GetVersion();
  snprintf(text, sizeof text, "%d.%d.%d", version.major, version.minor, version.revision);
  return text;
}

const PeerEngine peer_box2d3 = {"Box2D 3",   box2d3_version, box2d3_build, box2d3_step,
                                box2d3_look, NULL,           box2d3_end};
#endif
