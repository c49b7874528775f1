// Private to the kernels: angular momentum and energy of a floating island, as in spin.c.
#ifndef S2_KERNEL_SPIN_H
#define S2_KERNEL_SPIN_H

// Arrays have the sizes of the table, which the analyzer does not know.
// NOLINTBEGIN(clang-analyzer-*)

#include "dynamics/program/kernel_solve.h"

typedef struct Whole { // the island as a single rigid body at given poses
  Real mass, inertia, arm[S2_TABLE_NODES][2];
} Whole;

S2_KERNEL void spin_whole(const Run *run, const Nodes *q, Whole *whole) {
  const Constants *of = run->of;
  Real x = real(0), y = real(0);
  whole->mass = whole->inertia = real(0);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    Real *arm = whole->arm[i], m = of->node[i].mass;
    arm[0] = q->at[i][1] - q->at[0][1];
    arm[1] = q->at[i][2] - q->at[0][2];
    whole->mass = whole->mass + m;
    x = x + m * arm[0];
    y = y + m * arm[1];
  }
  Real part = real(1) / whole->mass;
  x = part * x;
  y = part * y;
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    Real *arm = whole->arm[i];
    arm[0] = arm[0] - x;
    arm[1] = arm[1] - y;
    whole->inertia = whole->inertia +
                     (of->node[i].inertia + of->node[i].mass * (arm[0] * arm[0] + arm[1] * arm[1]));
  }
}

S2_KERNEL Real spin_of(const Run *run, const Whole *whole, const Nodes *nodes) {
  const Real(*v)[3] = nodes->at;
  Real spin = real(0);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    const Real *arm = whole->arm[i];
    Real x = v[i][1] - v[0][1], y = v[i][2] - v[0][2];
    spin = spin +
           (run->of->node[i].inertia * v[i][0] + run->of->node[i].mass * (arm[0] * y - arm[1] * x));
  }
  return spin;
}

S2_KERNEL void spin_add_turn(const Run *run, const Whole *whole, Real turn, Mask on, Nodes *nodes) {
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    Real *v = nodes->at[i];
    v[0] = select(on, v[0] + turn, v[0]);
    v[1] = select(on, v[1] - turn * whole->arm[i][1], v[1]);
    v[2] = select(on, v[2] + turn * whole->arm[i][0], v[2]);
  }
}

S2_INLINE void spin_set(const Run *run, const Whole *whole, Real spin, Mask on, Nodes *v) {
  Real turn = (spin - spin_of(run, whole, v)) / whole->inertia;
  spin_add_turn(run, whole, turn, on, v);
}

S2_KERNEL void spin_drift(const Run *run, const Nodes *nodes, Real *drift_x, Real *drift_y) {
  const Real(*v)[3] = nodes->at;
  Real x = real(0), y = real(0), mass = real(0);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    Real m = run->of->node[i].mass;
    mass = mass + m;
    x = x + m * (v[i][1] - v[0][1]);
    y = y + m * (v[i][2] - v[0][2]);
  }
  Real part = real(1) / mass;
  *drift_x = v[0][1] + part * x;
  *drift_y = v[0][2] + part * y;
}

// Returns the kinetic energy, excluding the motion of the centre of mass.
S2_KERNEL Real spin_kinetic(const Run *run, const Nodes *nodes) {
  const Real(*v)[3] = nodes->at;
  Real sum = real(0), drift_x, drift_y;
  spin_drift(run, nodes, &drift_x, &drift_y);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    Real x = v[i][1] - drift_x, y = v[i][2] - drift_y;
    sum = sum +
          (run->of->node[i].inertia * v[i][0] * v[i][0] + run->of->node[i].mass * (x * x + y * y));
  }
  return sum / real(2);
}

// Reduces the energy to `most` if it is larger.
S2_KERNEL void spin_cap(const Run *run, const Whole *whole, Real most, Mask on, Nodes *nodes) {
  Real kinetic = spin_kinetic(run, nodes), none = real(0), one = real(1);
  on &= ~MASK(kinetic <= most);
  if (!any(on)) {
    return;
  }
  Real drift_x, drift_y, (*v)[3] = nodes->at;
  spin_drift(run, nodes, &drift_x, &drift_y);
  Real spin = spin_of(run, whole, nodes), turn = spin / whole->inertia;
  Real turning = spin * turn / real(2), rest = kinetic - turning;
  Real part = smaller(one, larger(none, most - turning) / rest);
  Real less = select(MASK(rest > none), one - root(part), none);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    const Real *arm = whole->arm[i];
    v[i][0] = select(on, v[i][0] - less * (v[i][0] - turn), v[i][0]);
    v[i][1] = select(on, v[i][1] - less * (v[i][1] - drift_x + turn * arm[1]), v[i][1]);
    v[i][2] = select(on, v[i][2] - less * (v[i][2] - drift_y - turn * arm[0]), v[i][2]);
  }
  Real slower = select(MASK(turning > most), root(most / turning) - one, none);
  spin_add_turn(run, whole, turn * slower, on, nodes);
}

// Records `part` times a velocity change that neither forces nor joints cause.
S2_INLINE void spin_correct(const Run *run, int i, const Real dv[3], Real part, Mask on) {
  Real *corrected = run->state->corrected[i];
  S2_UNROLL for (int c = 0; c < 3; c++) {
    Real inertial = c == 0 ? run->of->node[i].inertia : run->of->node[i].mass;
    corrected[c] = select(on, corrected[c] + inertial * part * dv[c], corrected[c]);
  }
}

// Gives v2 the angular momentum `spin`, and limits its energy to `most`.
S2_KERNEL void spin_give_back(Run *run, const Whole *whole, Real spin, Real most, Mask on) {
  Nodes v;
  nodes_copy(run->table, &run->v2, &v);
  spin_set(run, whole, spin, on, &v);
  spin_cap(run, whole, most, on, &v);
  S2_UNROLL for (int i = 0; i < run->table->nodes; i++) {
    Real *v2 = run->v2.at[i], dv[3];
    S2_UNROLL for (int c = 0; c < 3; c++) {
      dv[c] = v.at[i][c] - v2[c];
      v2[c] = v.at[i][c];
    }
    spin_correct(run, i, dv, real(1), on);
  }
}

// NOLINTEND(clang-analyzer-*)
#endif
