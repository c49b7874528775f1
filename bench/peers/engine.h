// The interface of an engine in the benchmark. C and C++: Box2D's interface is C++.
#ifndef S2_PEERS_ENGINE_H
#define S2_PEERS_ENGINE_H

#include "peers/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PeerMotion {
  double x, y, angle, vx, vy, omega; // m, rad and per s
} PeerMotion;

// An engine's report on its own accuracy, over all steps so far.
typedef struct PeerVerdict {
  double residual;
  unsigned long long unsolved; // steps that missed the tolerance
} PeerVerdict;

typedef struct PeerEngine {
  const char *name;
  const char *(*version)(void);
  void *(*build)(const PeerScene *scene);
  void (*step)(void *world);
  void (*look)(void *world, PeerMotion *motion); // one for each body of the scene
  PeerVerdict (*judge)(void *world);             // NULL: it has no such report
  void (*end)(void *world);
} PeerEngine;

enum { PEER_ENGINES = 7 }; // largest number of engines

extern const PeerEngine peer_sim2d, peer_stepped, peer_convex, peer_budget;
extern const PeerEngine peer_chipmunk; // only with S2_HAVE_CHIPMUNK
extern const PeerEngine peer_box2d;    // only with S2_HAVE_BOX2D
extern const PeerEngine peer_box2d3;   // only with S2_HAVE_BOX2D3

#ifdef __cplusplus
}
#endif

#endif
