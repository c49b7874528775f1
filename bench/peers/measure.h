// Steps a scene with several engines in turn, and measures times and accuracy.
#ifndef S2_PEERS_MEASURE_H
#define S2_PEERS_MEASURE_H

#include "peers/engine.h"

typedef struct PeerFigures {
  const PeerEngine *engine;
  double median, mean, worst; // ms a step
  double overlap;             // m, the deepest of those measured; NAN: nothing collides
  double joint_error;         // m, likewise; NAN: no joints
  double energy;              // change over the measured steps, as a part of that before them
  double fastest;             // m/s, of a body after the last step
  PeerVerdict verdict; // verdict on all steps; its residual is NAN where an engine has no report
} PeerFigures;

typedef struct PeerResult {
  const PeerCase *of;
  int moving; // bodies
  int engines;
  PeerFigures figures[PEER_ENGINES];
} PeerResult;

PeerResult peer_measure(const PeerCase *of, const PeerEngine *const *engine, int engines);

// Growth of the median time with the number of moving bodies N within a family: the exponent p of
// N^p by least squares of the logarithms. NAN: there are not two sizes.
double peer_growth(const PeerResult *results, int count, const char *family, int engine);

#endif
