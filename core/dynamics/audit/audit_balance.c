// Momentum: the change of a body's momentum must equal the sum of the impulses of forces, contacts,
// joints and corrections.
#include "dynamics/audit/audit.h"

static void contact_sums(const S2World *world, double *sum, double *size) {
  for (int i = 0; i < world->acted.count; i++) {
    const S2Acted *acted = &world->acted.at[i];
    S2Vec2 p = s2_acted_impulse(acted);
    double *a = sum + 3 * acted->body_a, *b = sum + 3 * acted->body_b;
    a[0] += acted->angular_a;
    a[1] += p.x;
    a[2] += p.y;
    b[0] += acted->angular_b;
    b[1] -= p.x;
    b[2] -= p.y;
    size[acted->body_a] += s2_length(p);
    size[acted->body_b] += s2_length(p);
  }
}

// The unexplained part of a body's momentum balance, and its tolerance, both in N s.
static double momentum_rest(const S2World *world, const S2Auditor *audit, int32_t slot,
                            const double *contacts, double size, double *allowed) {
  const S2Body *body = &world->bodies.at[slot];
  const double inertial[3] = {body->inertia, body->mass, body->mass};
  double rest[3], terms = size + audit->size[slot], damped = 0;
  for (int c = 0; c < 3; c++) {
    double v0 = audit->v0[3 * slot + c], v1 = world->v.at[3 * slot + c];
    double given = audit->force[3 * slot + c] + audit->pushed[3 * slot + c] + contacts[c] +
                   audit->corrected[3 * slot + c];
    double unit = c == 0 ? body->reach : 1; // dividing N m s by the reach gives N s
    double rate = c == 0 ? body->angular_damping : body->linear_damping;
    rest[c] = (inertial[c] * (v1 - v0) - given) / unit;
    terms +=
        (fabs(inertial[c] * v0) + fabs(inertial[c] * v1) + fabs(audit->force[3 * slot + c])) / unit;
    // Damping usually acts on the velocity at the end of each piece of a step. In the two-stage
    // flow it acts on the velocity that moves the positions.
    bool stages = s2_world_rattles(&world->kept.def);
    double carried = (world->q.at[3 * slot + c] - audit->q0[3 * slot + c]) / audit->h;
    double change = fabs(v1 - v0) + (stages ? fabs(carried - v1) : 0);
    damped += rate * audit->h * inertial[c] * (change + fabs(contacts[c]) / inertial[c]) / unit;
  }
  // Joint impulses are known, but their lever arms on the two bodies are not, so angular momentum
  // is not checked.
  rest[0] = audit->jointed[slot] ? 0 : rest[0];
  // Ignore a momentum error that moves a body by less than the tolerance of lengths.
  terms += body->mass * S2_AUDIT_LENGTH * body->reach / audit->h;
  // Solves that missed their tolerance have reported their largest error. It may occur in x, in y
  // and in the torque at the same time.
  double missed = audit->missed[slot] * fmax(sqrt(2), 1 / body->reach);
  *allowed = S2_AUDIT_MOMENTUM * terms + 2 * damped + missed;
  return fmax(hypot(rest[1], rest[2]), fabs(rest[0]));
}

static void judge_momentum(S2World *world, const S2Auditor *audit, const double *contacts,
                           const double *size) {
  for (int i = 0; i < world->order.count; i++) {
    int32_t slot = world->order.at[i];
    const S2Body *body = &world->bodies.at[slot];
    if (!s2_body_moves(body) || body->type != S2_DYNAMIC || body->has_law || audit->held[slot]) {
      continue; // a law may be called more than once in a step, so its force is unknown
    }
    double allowed;
    double rest = momentum_rest(world, audit, slot, contacts + 3 * slot, size[slot], &allowed);
    if (rest > allowed) {
      world->residuals.audit.momentum = fmax(world->residuals.audit.momentum, rest);
      s2_audit_find(world, &world->stats.audit.momenta, slot, S2_NONE, 0,
                    "its momentum changed by %.3g N s without a cause", rest);
    }
  }
}

void s2_audit_momenta(S2World *world, S2Auditor *audit) {
  S2ArenaMark mark = s2_arena_mark(&audit->arena);
  double *contacts = S2_TAKE_ZEROED(&audit->arena, double, 3 * audit->slots);
  double *size = S2_TAKE_ZEROED(&audit->arena, double, audit->slots);
  contact_sums(world, contacts, size);
  judge_momentum(world, audit, contacts, size);
  s2_arena_rewind(&audit->arena, mark);
}
