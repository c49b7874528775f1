// The scenes in Box2D 2.4: 8 iterations of velocities and 3 of positions, as its manual advises,
// and its other defaults, except for sleeping.
//
// Its polygons have a skin of 1 cm and come to rest with skins in touch. Boxes are made smaller by
// it, so that the surfaces are where the other engines have them; masses are those of the scene.
#include "peers/engine.h"

#include <box2d/box2d.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

struct Box2dWorld {
  explicit Box2dWorld(float gravity) : world(b2Vec2(0, gravity)) {}
  b2World world;
  std::vector<b2Body *> body;
  float dt = 0;
};

float narrow(double x) {
  return static_cast<float>(x);
}

b2Body *box2d_body(b2World &world, const PeerScene &scene, const PeerBody &of) {
  b2BodyDef def;
  def.type = of.mass > 0 ? b2_dynamicBody : b2_staticBody;
  def.position.Set(narrow(of.x), narrow(of.y));
  def.angle = narrow(of.angle);
  b2Body *body = world.CreateBody(&def);
  b2CircleShape disc;
  b2PolygonShape box;
  disc.m_radius = narrow(of.radius);
  if (of.radius <= 0) {
    box.SetAsBox(narrow(of.half[0]) - b2_polygonRadius, narrow(of.half[1]) - b2_polygonRadius);
  }
  b2FixtureDef fixture;
  fixture.shape = of.radius > 0 ? static_cast<b2Shape *>(&disc) : &box;
  fixture.density = 1;
  fixture.friction = narrow(scene.friction); // of a pair: the geometric mean
  fixture.restitution = 0;
  fixture.filter.maskBits = scene.collides ? 0xffff : 0;
  body->CreateFixture(&fixture);
  if (of.mass > 0) {
    b2MassData mass;
    mass.mass = narrow(of.mass);
    mass.center.SetZero();
    mass.I = narrow(of.inertia);
    body->SetMassData(&mass);
  }
  return body;
}

void *box2d_build(const PeerScene *scene) {
  Box2dWorld *it = new Box2dWorld(narrow(scene->gravity));
  it->dt = narrow(scene->dt);
  it->world.SetAllowSleeping(false);
  for (int i = 0; i < scene->bodies; i++) {
    it->body.push_back(box2d_body(it->world, *scene, scene->body[i]));
  }
  b2BodyDef nothing;
  b2Body *ground = scene->hinges > 0 ? it->world.CreateBody(&nothing) : nullptr;
  for (int i = 0; i < scene->hinges; i++) {
    const PeerHinge &hinge = scene->hinge[i];
    b2Body *b = hinge.b < 0 ? ground : it->body[static_cast<std::size_t>(hinge.b)];
    b2RevoluteJointDef joint;
    joint.Initialize(it->body[static_cast<std::size_t>(hinge.a)], b,
                     b2Vec2(narrow(hinge.x), narrow(hinge.y)));
    it->world.CreateJoint(&joint);
  }
  return it;
}

void box2d_step(void *world) {
  Box2dWorld *it = static_cast<Box2dWorld *>(world);
  it->world.Step(it->dt, 8, 3);
}

void box2d_look(void *world, PeerMotion *motion) {
  for (b2Body *body : static_cast<Box2dWorld *>(world)->body) {
    b2Vec2 at = body->GetPosition(), v = body->GetLinearVelocity();
    PeerMotion now = {at.x, at.y, body->GetAngle(), v.x, v.y, body->GetAngularVelocity()};
    *motion++ = now;
  }
}

void box2d_end(void *world) {
  delete static_cast<Box2dWorld *>(world);
}

const char *box2d_version() {
  static char text[48];
  std::snprintf(text, sizeof text, "%d.%d.%d", b2_version.major, b2_version.minor,
                b2_version.revision);
  return text;
}

} // namespace

const PeerEngine peer_box2d = {"Box2D",    box2d_version, box2d_build, box2d_step,
                               box2d_look, nullptr,       box2d_end};
