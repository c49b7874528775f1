// Removes the energy that projection adds by lifting bodies, in speculative and bisecting steps.
// Let D1 = v1 - v0 and D2 = v2 - v1. Let l be the contact impulses of the motion and of impacts,
// and u = J v1 - (belt speed) the speeds at which they acted. A step changes the energy by
//
//     -D1 M D1/2 + l u + D2 M D2/2 + f'(h v1 - (q1 - q0)),
//
// where the last term is the work of lifting bodies beyond the motion of v1. The speeds u are
// relative speeds of touching bodies, so the sum does not limit the work of obstacles, joints and
// damping. The sum has the additional term D2 M (v1 - ride) if joint displacements of the
// projection were added to v2, because no contact absorbed that energy. `ride` is the velocity of
// the ground. If the sum is positive, this energy is removed from v2. A step can therefore lift
// bodies only with energy that its contacts absorbed. Event stepping has a separate energy account
// (energy.c).
#include "dynamics/project/spin.h"
#include "dynamics/step/acted.h"
#include "dynamics/trace/notes.h"

#include <string.h>

static double of_bodies(const S2Step *step, const S2Island *island, const double *ride, bool fed) {
  double gain = 0;
  for (int i = 0; i < 3 * island->nodes; i++) {
    int at = 3 * island->node[i / 3] + i % 3;
    const S2Body *body = &step->world->bodies.at[island->node[i / 3]];
    double inertial = i % 3 == 0 ? body->inertia : body->mass, v1 = step->v1[at];
    double stopped = v1 - step->v0[at], thrown = step->v2[at] - v1;
    gain += inertial * (thrown * thrown - stopped * stopped) / 2;
    gain += fed ? inertial * thrown * (v1 - ride[i]) : 0;
    gain += step->force[at] * (step->h * v1 - (step->q1[at] - step->q0[at]));
  }
  return gain;
}

// Computes the work of contacts from their logged impulses and the lever arms of the solves.
static double of_contacts(const S2Step *step, const S2Island *island) {
  double gain = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    int32_t at = s2_touch_soft(touch) ? S2_NONE : step->logged[island->touch[i]];
    while (at != S2_NONE) {
      const S2Acted *acted = &step->world->log.at[at];
      const double *va = step->v1 + 3 * acted->body_a, *vb = step->v1 + 3 * acted->body_b;
      S2Vec2 apart = s2_vec2(va[1] - vb[1], va[2] - vb[2]);
      gain +=
          s2_dot(s2_acted_impulse(acted), apart) - acted->tangent_impulse * touch->surface_speed;
      gain += acted->angular_a * va[0] + acted->angular_b * vb[0];
      at = acted->next;
    }
  }
  return gain;
}

// The ground of an island, and the island's velocities v2 relative to it.
typedef struct Account {
  int32_t *ground; // slots
  int grounds;
  // 3 per node: v2 relative to the ground of the node; the velocity of that ground
  double *now, *ride;
  double excess;  // J: energy that the step has added (the sum above)
  double kinetic; // J: kinetic energy from which it may be taken
} Account;

static Account account_of(const S2Step *step, const S2Island *island, bool fed) {
  Account account = {.ground = S2_TAKE(step->arena, int32_t, S2_HOLDERS(island)),
                     .now = S2_TAKE(step->arena, double, 3 * island->nodes),
                     .ride = S2_TAKE_ZEROED(step->arena, double, 3 * island->nodes)};
  account.grounds = s2_island_holders(step, island, true, account.ground);
  bool held = account.grounds > 0;
  for (int i = 0; i < island->nodes; i++) {
    if (held) {
      s2_event_ride(step, account.ground, account.grounds, island->node[i], account.ride + 3 * i);
    }
    for (int c = 0; c < 3; c++) {
      account.now[3 * i + c] = step->v2[3 * island->node[i] + c] - account.ride[3 * i + c];
    }
  }
  account.excess = of_bodies(step, island, account.ride, fed) + of_contacts(step, island);
  account.kinetic = held ? s2_island_kinetic(step, island, account.now)
                         : s2_island_kinetic_within(step, island, account.now);
  return account;
}

bool s2_island_can_pay(const S2Step *step, const S2Island *island, double part) {
  S2ArenaMark mark = s2_arena_mark(step->arena);
  Account account = account_of(step, island, false);
  s2_arena_rewind(step->arena, mark);
  return account.excess <= part * account.kinetic;
}

void s2_island_repay(S2Step *step, const S2Island *island, bool fed) {
  S2ArenaMark mark = s2_arena_mark(step->arena);
  Account account = account_of(step, island, fed);
  double *now = account.now, excess = account.excess, kinetic = account.kinetic;
  if (!(excess > S2_SPIN_ROUNDING * kinetic)) {
    s2_arena_rewind(step->arena, mark);
    return;
  }
  s2_note_slow(step, island, excess, fed, account.ground, account.grounds);
  // Reduce all speeds to remove the added energy.
  double most = fmax(0, kinetic - excess);
  // Scale rotation and translation by the same factor, because a pivoting body does both.
  if (account.grounds > 0) {
    double fraction = kinetic > 0 ? sqrt(most / kinetic) : 0;
    for (int i = 0; i < 3 * island->nodes; i++) {
      now[i] = account.ride[i] + fraction * now[i];
    }
  } else {
    s2_island_cap(step, island, most, now); // this conserves momentum
  }
  // Record the change as a correction, because neither forces nor contacts cause it.
  for (int i = 0; i < island->nodes; i++) {
    double *v2 = step->v2 + 3 * island->node[i];
    const double dv[3] = {now[3 * i] - v2[0], now[3 * i + 1] - v2[1], now[3 * i + 2] - v2[2]};
    s2_step_correct(step, island->node[i], dv, 1);
    memcpy(v2, now + 3 * i, 3 * sizeof(double));
  }
  s2_arena_rewind(step->arena, mark);
}
