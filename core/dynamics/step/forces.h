// Phase 1: the forces on bodies, and their motion without contacts and joints.
#ifndef S2_FORCES_H
#define S2_FORCES_H

#include "dynamics/step/context.h"

// Writes gravity, applied forces and force laws into `force`. Returns false if aborted.
bool s2_step_forces(S2Step *step);
// Computes mass and free_v of all bodies over h, from v0 and force. Calls prescribed motions.
// Returns false if aborted.
bool s2_step_free_motion(S2Step *step, double h);
void s2_step_free_body(const S2Step *step,
                       int32_t slot); // computes mass and free_v of one body over step->h.
// Evaluates the prescribed motions of joints over h (joints/motion.c). Returns false if aborted.
bool s2_step_motions(S2Step *step, double h);

#endif
