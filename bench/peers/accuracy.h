// The accuracy of a world's state, measured in the same way for all engines: from the motion of the
// bodies and the scene, by sim2d's own distances between shapes.
#ifndef S2_PEERS_ACCURACY_H
#define S2_PEERS_ACCURACY_H

#include "peers/engine.h"

double peer_overlap(const PeerScene *scene, const PeerMotion *motion);     // m, the deepest
double peer_joint_error(const PeerScene *scene, const PeerMotion *motion); // m, anchors apart
double peer_energy(const PeerScene *scene, const PeerMotion *motion);      // J, that of y = 0 is 0
double peer_fastest(const PeerScene *scene, const PeerMotion *motion); // m/s, of the moving bodies

#endif
