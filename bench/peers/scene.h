// A scene as plain numbers, from which each engine builds its own world: the same bodies at the
// same places with the same masses.
#ifndef S2_PEERS_SCENE_H
#define S2_PEERS_SCENE_H

#include <stdbool.h>

typedef struct PeerBody {
  double x, y, angle;   // m, rad; at the centre of mass
  double half[2];       // m, of a box
  double radius;        // m, of a disc; 0: a box
  double mass, inertia; // kg, kg m^2; 0: it never moves
} PeerBody;

typedef struct PeerHinge {
  int a, b;    // bodies; b = -1: the world
  double x, y; // m, at the start
} PeerHinge;

typedef struct PeerScene {
  double dt, gravity, friction; // s, m/s^2 along y, the coefficient of each pair
  bool collides;
  PeerBody *body;
  int bodies, moving; // `moving` of the bodies can move
  PeerHinge *hinge;
  int hinges;
} PeerScene;

// A scene, and how many of its steps are measured.
typedef struct PeerCase {
  const char *name, *family; // growth is measured within a family
  void (*fill)(PeerScene *scene, int n);
  int n;
  int settle, measure; // steps
  bool slow;           // takes minutes
} PeerCase;

extern const PeerCase peer_cases[];
extern const int peer_case_count;

PeerScene peer_scene(const PeerCase *of);
void peer_scene_free(PeerScene *scene);

#endif
