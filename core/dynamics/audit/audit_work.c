// Records the work within a step, wherever impulses are logged. An impulse P at a point changes the
// kinetic energy by exactly P (u0 + u2)/2, where u0 and u2 are the velocities of the point before
// and after it. So the energy loss of a contact is known exactly. The normal impulse of a contact
// that stays closed does no work. Friction removes its impulse times the sliding velocity.
//
// The work of a search counts only after s2_audit_keep, because a search may be repeated.
#include "dynamics/audit/audit.h"

#include <string.h>

static void work_add(S2AuditWork *sum, const S2AuditWork *more) {
  sum->contacts += more->contacts;
  sum->ground += more->ground;
  sum->integrated += more->integrated;
  sum->swept += more->swept;
  sum->corrected += more->corrected;
  sum->halves += more->halves;
  sum->struck += more->struck;
  sum->spun += more->spun;
  sum->paced += more->paced;
}

void s2_audit_forget(const S2Step *step) {
  S2Auditor *audit = step->world->audit;
  memset(audit->tried, 0, sizeof *audit->tried * (size_t)audit->slots);
}

void s2_audit_keep(const S2Step *step) {
  S2Auditor *audit = step->world->audit;
  for (int32_t slot = 0; slot < audit->slots; slot++) {
    work_add(&audit->done[slot], &audit->tried[slot]);
  }
  s2_audit_forget(step);
}

static S2Vec2 work_velocity_of(const double v[3], S2Vec2 arm) {
  return s2_vec2(v[1] - v[0] * arm.y, v[2] + v[0] * arm.x);
}

// Returns the work of friction against a ground whose speed changes by `change` during the impulse.
// Friction must not add energy. The mean speed may suggest a gain if the sliding stops within that
// change. In that case the work is 0, because friction reverses when the sliding stops.
static double work_of_friction(double tangent, double along, double change) {
  bool ends = tangent * along > 0 && fabs(along) <= fabs(change) / 2;
  return ends ? 0 : tangent * along;
}

void s2_audit_contact(const S2Step *step, const S2Touch *touch, int k, double normal,
                      double tangent) {
  S2Auditor *audit = step->world->audit;
  if (audit == NULL) {
    return;
  }
  const S2TouchPoint *point = &touch->points[k];
  const int32_t slot[2] = {touch->body_a, touch->body_b};
  const S2Vec2 arm[2] = {point->at.point, point->arm_b};
  S2Vec2 n = point->at.normal, t = s2_left(n), mean[2], change[2];
  for (int i = 0; i < 2; i++) {
    const double *v0 = step->v0 + 3 * slot[i], *v2 = step->v2 + 3 * slot[i];
    S2Vec2 before = work_velocity_of(v0, arm[i]), after = work_velocity_of(v2, arm[i]);
    mean[i] = s2_scale(0.5, s2_add(before, after));
    change[i] = s2_sub(after, before);
  }
  bool moves[2] = {s2_body_moves(&step->world->bodies.at[slot[0]]),
                   s2_body_moves(&step->world->bodies.at[slot[1]])};
  if (!moves[0] && !moves[1]) {
    return;
  }
  // Compute the work of the contact itself at the relative velocity of the surfaces. The moving
  // surface of a kinematic body does the remaining work (`ground`).
  S2Vec2 apart = s2_sub(mean[0], mean[1]);
  double along = s2_dot(t, apart) - touch->surface_speed;
  double given = moves[0] && moves[1] ? 0 : s2_dot(t, change[moves[0]]);
  double contacts = normal * s2_dot(n, apart) + work_of_friction(tangent, along, given);
  S2AuditWork work = {.contacts = contacts, .ground = tangent * touch->surface_speed};
  S2Vec2 impulse = s2_add_scaled(s2_scale(normal, n), tangent, t);
  if (!moves[1]) {
    work.ground = s2_dot(impulse, mean[0]) - contacts;
  } else if (!moves[0]) {
    work.ground = -s2_dot(impulse, mean[1]) - contacts;
  }
  work_add(&audit->tried[moves[0] ? slot[0] : slot[1]], &work);
  for (int i = 0; i < 2; i++) {
    if (moves[i]) { // skip immovable bodies, which islands in other threads may share
      audit->tried[slot[i]].struck += s2_length(impulse);
      audit->tried[slot[i]].spun += fabs(s2_cross(arm[i], impulse));
    }
  }
}

void s2_audit_correct(const S2Step *step, int32_t slot, const double dv[3]) {
  S2Auditor *audit = step->world->audit;
  if (audit == NULL) {
    return;
  }
  const S2Body *body = &step->world->bodies.at[slot];
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  for (int c = 0; c < 3; c++) {
    double mean = step->v2[3 * slot + c] + dv[c] / 2;
    audit->tried[slot].corrected += inertial[c] * dv[c] * mean;
  }
}

void s2_audit_halves(const S2Step *step, const S2Joint *joint, const double first[3],
                     const double second[3], double paced) {
  S2Auditor *audit = step->world->audit;
  const int32_t slot[2] = {joint->a, joint->b};
  for (int k = 0; k < 2 && audit != NULL; k++) {
    if (slot[k] != S2_NONE && s2_body_moves(&step->world->bodies.at[slot[k]])) {
      audit->tried[slot[k]].paced += paced;
      paced = 0; // counts once
      audit->tried[slot[k]].halves += hypot(first[1], first[2]) + hypot(second[1], second[2]);
    }
  }
}

void s2_audit_integrated(const S2Step *step, int32_t slot, double h, const S2AuditFlight *flight) {
  S2Auditor *audit = step->world->audit;
  for (int c = 0; c < 3; c++) {
    double mean = (flight->v0[c] + flight->v2[c]) / 2, force = step->force[3 * slot + c];
    audit->tried[slot].integrated += h * force * (mean - flight->carry[c]);
    audit->tried[slot].swept += force * (h * mean - (flight->q1[c] - flight->q0[c]));
  }
}
