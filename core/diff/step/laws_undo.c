// Derivatives of force laws. The notes of a step contain the forces that laws returned, and the
// derivatives of these forces with respect to their arguments. The adjoints go to the bodies whose
// states were the arguments.
#include "diff/step/undo.h"
#include "dynamics/step/forces.h"
#include "dynamics/step/laws.h"

#include <math.h>
#include <string.h>

// Some forces depend on velocities that depend on the forces. The iteration for their adjoints
// takes at most ROUNDS rounds. It ends if no adjoint changes by more than the fraction STANDS.
enum { ROUNDS = 200 };
static const double STANDS = 1e-15;

// ---- The arguments of a law -------------------------------------------------------------------

typedef S2LawsSeen Seen;

// A law is called at a fraction of h after the start. The times of all bodies are proportional to
// dt.
static void laws_time_vjp(const Seen *seen, double bar) {
  S2Undo *undo = seen->undo;
  const S2Note *note = seen->note;
  if (seen->since_bar != NULL) {                              // a law in the two-stage flow
    undo->bar.elapsed += note->act == S2_ACT_PIECE ? bar : 0; // the time when the interval began
    *seen->since_bar += bar;
  } else if (note->of == NULL) {
    double elapsed = note->t - undo->world->kept.time + seen->part * note->h;
    undo->gradient->dt += bar * elapsed / undo->world->kept.def.dt;
    undo->gradient->beta -= seen->by_share ? 2 * note->h * bar : 0;
  } else {
    undo->bar.elapsed += bar;
    undo->bar.h += seen->part * bar;
  }
}

// The body moves freely from the start of the step: pose q + s (v + s/2 a), velocity v + s a, with
// a = (free_v - v)/dt.
static void laws_way_vjp(const Seen *seen, const S2LawTerm *term, double bar) {
  S2Undo *undo = seen->undo;
  double s = seen->since, dt = undo->step.dt;
  bool pose = term->term.part < S2_BODY_OMEGA;
  int at = 3 * term->term.slot + (int)term->term.part % 3;
  undo->law_q[at] += pose ? bar : 0;
  undo->law_v[at] += bar * (pose ? s : 1);
  // The adjoint of a goes to free_v, v and dt.
  const S2Note *free = s2_undo_last(undo, S2_ACT_FREE);
  double bend_bar = bar * (pose ? s * s / 2 : s);
  double bend = s == 0 ? 0 : pose ? (term->rate - free->free.v0[at]) / s : term->rate;
  undo->law_free[at] += bend_bar / dt;
  undo->law_v[at] -= bend_bar / dt;
  undo->length_bar -= bend_bar * bend / dt;
  laws_time_vjp(seen, bar * term->rate); // time since the start of the step
}

static void laws_term_vjp(const Seen *seen, const S2LawTerm *term, double bar) {
  S2Undo *undo = seen->undo;
  int at = 3 * term->term.slot + (int)term->term.part % 3;
  bool pose = term->term.part < S2_BODY_OMEGA;
  if (!pose && !s2_undo_goes(&undo->world->bodies.at[term->term.slot])) {
    undo->gradient->v[at] += bar; // no act of the step changes this velocity
  } else if (term->of != S2_LAW_OWN) {
    laws_way_vjp(seen, term, bar);
  } else if (!pose) {
    seen->v[at] += bar;
  } else if (seen->note->act == S2_ACT_LAWS_END) { // q0 + part (q1 - q0)
    undo->bar.q0[at] += (1 - seen->part) * bar;
    seen->q[at] += seen->part * bar;
    double way = undo->step.q1[at] - undo->step.q0[at];
    undo->gradient->beta -= seen->by_share ? 2 * way * bar : 0;
  } else {
    seen->q[at] += bar;
  }
}

void s2_undo_law_answer(const Seen *seen, const S2LawAnswer *answer, const double bar[3]) {
  const bool *own = seen->own;
  S2Undo *undo = seen->undo;
  for (int i = 0; i < answer->terms; i++) {
    const S2LawTerm *term = &answer->term[i];
    bool agreed = own != NULL && term->of == S2_LAW_OWN && term->term.part >= S2_BODY_OMEGA &&
                  own[term->term.slot];
    if (!agreed) {
      laws_term_vjp(seen, term, bar[term->term.number] * term->term.by);
    }
  }
  const S2WorldDef *def = &undo->world->kept.def;
  for (int k = 0; k < 3; k++) {
    double by_time = bar[k] * answer->by_time[k];
    undo->gradient->time += by_time;
    undo->gradient->dt += by_time * (undo->world->kept.time - undo->answers.begun) / def->dt;
    undo->gradient->dt += bar[k] * answer->by_dt[k] * undo->step.dt / def->dt;
    laws_time_vjp(seen, by_time);
    s2_answer_origin_vjp(&undo->answers, answer->origin[k], bar[k]);
  }
}

void s2_undo_seen(S2Undo *undo) {
  undo->bar.h += undo->length_bar;
  undo->length_bar = 0;
  for (size_t i = 0; i < 3 * (size_t)undo->notes->slots; i++) {
    undo->bar.q0[i] += undo->law_q[i];
    undo->bar.v0[i] += undo->law_v[i];
    undo->bar.free_v[i] += undo->law_free[i];
    undo->law_q[i] = undo->law_v[i] = undo->law_free[i] = 0;
  }
}

// ---- Laws at the start of a piece ---------------------------------------------------------------

void s2_undo_laws(S2Undo *undo, const S2Note *note) {
  const S2LawsAct *act = note->laws.act;
  Seen seen = {
      .undo = undo, .note = note, .q = undo->bar.q0, .v = undo->bar.v0, .since = act->since};
  for (int i = 0; i < act->count; i++) {
    const S2LawAnswer *answer = &act->answers[i];
    double bar[3];
    for (int k = 0; k < 3; k++) { // force = held + law
      int at = 3 * answer->slot + k;
      bar[k] = undo->bar.force[at] + undo->law[at];
      undo->held[at] += undo->bar.force[at];
      undo->bar.force[at] = undo->law[at] = 0;
    }
    s2_undo_law_answer(&seen, answer, bar);
    memcpy(undo->step.force + 3 * answer->slot, note->laws.force + 3 * i, 3 * sizeof(double));
  }
}

// ---- Laws at the end of a piece -----------------------------------------------------------------

// For several bodies, v = u + c (L(v) - L0). The adjoint of u is y = v_bar + D' c y.
static void laws_agree_vjp(const Seen *seen, const bool *own, const double *c, const double *v_bar,
                           double *y) {
  const S2LawsAct *act = seen->note->laws.act;
  S2Arena *arena = seen->undo->arena;
  S2ArenaMark mark = s2_arena_mark(arena);
  int slots = seen->undo->notes->slots;
  double *rest = S2_TAKE(arena, double, 3 * slots); // v_bar, plus the terms from the other bodies
  bool stands = false;
  for (int round = 0; round < ROUNDS && !stands; round++) {
    memcpy(rest, v_bar, sizeof *rest * 3 * (size_t)slots);
    for (int i = 0; i < act->count; i++) {
      const S2LawAnswer *answer = &act->answers[i];
      for (int t = 0; t < answer->terms && !answer->held; t++) {
        const S2ForceTerm *term = &answer->term[t].term;
        int from = 3 * answer->slot + term->number;
        bool others = term->part >= S2_BODY_OMEGA && own[term->slot] &&
                      term->slot != answer->slot && answer->term[t].of == S2_LAW_OWN;
        if (others) {
          rest[3 * term->slot + (int)term->part % 3] += term->by * c[from] * y[from];
        }
      }
    }
    stands = true;
    for (int i = 0; i < act->count; i++) {
      const S2LawAnswer *answer = &act->answers[i];
      double d[9] = {0}, *at = y + 3 * answer->slot, x[3];
      for (int t = 0; t < answer->terms && !answer->held; t++) {
        const S2ForceTerm *term = &answer->term[t].term;
        if (term->part >= S2_BODY_OMEGA && term->slot == answer->slot) {
          d[3 * term->number + (int)term->part % 3] += term->by;
        }
      }
      memcpy(x, rest + 3 * answer->slot, sizeof x);
      s2_laws_solve(c + 3 * answer->slot, d, true, x);
      for (int k = 0; k < 3; k++) {
        stands &= fabs(x[k] - at[k]) <= STANDS * fabs(x[k]);
        at[k] = x[k];
      }
    }
  }
  s2_arena_rewind(arena, mark);
}

void s2_undo_laws_end(S2Undo *undo, const S2Note *note) {
  const S2LawsAct *act = note->laws.act;
  S2StepAdjoint *bar = &undo->bar;
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  int slots = undo->notes->slots;
  bool island = note->of != NULL, *own = S2_TAKE_ZEROED(undo->arena, bool, slots);
  double *c = S2_TAKE_ZEROED(undo->arena, double, 3 * slots);
  double *v_bar = S2_TAKE_ZEROED(undo->arena, double, 3 * slots);
  double *y = S2_TAKE_ZEROED(undo->arena, double, 3 * slots);
  Seen seen = {.undo = undo, .note = note, .q = bar->q1, .v = bar->v2, .part = act->part};
  seen.since = act->since;
  seen.own = own;
  seen.by_share = s2_world_way(&undo->world->kept.def) != S2_EVENT;
  for (int i = 0; i < act->count; i++) {
    int32_t slot = act->answers[i].slot;
    own[slot] = true;
    if (island) { // the mean force is a part of free_v
      s2_undo_free_body(undo, slot, note->h);
    }
    for (int at = 3 * slot; at < 3 * slot + 3; at++) {
      c[at] = note->h / 2 / undo->step.mass[at];
      v_bar[at] = bar->v2[at] + (island ? bar->v1[at] : 0);
      bar->v2[at] = 0;
      bar->v1[at] = island ? 0 : bar->v1[at];
    }
  }
  // The mean force is the mean of the forces at both ends.
  for (int i = 0; i < act->count && island; i++) {
    const S2LawAnswer *answer = &act->answers[i];
    for (int t = 0; t < answer->terms && !answer->held; t++) {
      const S2ForceTerm *term = &answer->term[t].term;
      if (answer->term[t].of == S2_LAW_OWN && term->part >= S2_BODY_OMEGA && own[term->slot]) {
        v_bar[3 * term->slot + (int)term->part % 3] +=
            term->by * bar->force[3 * answer->slot + term->number] / 2;
      }
    }
  }
  laws_agree_vjp(&seen, own, c, v_bar, y);
  for (int i = 0; i < act->count; i++) {
    const S2LawAnswer *answer = &act->answers[i];
    double law_bar[3];
    for (int k = 0; k < 3; k++) {
      int at = 3 * answer->slot + k;
      double half = island && !answer->held ? bar->force[at] / 2 : 0;
      double kick = answer->held ? 0 : c[at] * y[at];
      law_bar[k] = kick + half;
      undo->law[at] -= kick + half;
      // c = h/(2 W)
      double c_bar = answer->held ? 0 : y[at] * answer->change[k];
      // All intervals of event stepping depend on the length of the step.
      *(island || seen.by_share ? &bar->h : &undo->length_bar) += c_bar * c[at] / note->h;
      bar->mass[at] -= c_bar * c[at] / undo->step.mass[at];
      (island ? bar->v1 : bar->v2)[at] += y[at] + undo->law_flow[at];
      undo->law_flow[at] = 0;
    }
    s2_undo_law_answer(&seen, answer, law_bar);
    memcpy(undo->step.v2 + 3 * answer->slot, note->laws.v2 + 3 * i, 3 * sizeof(double));
    memcpy(undo->step.force + 3 * answer->slot, note->laws.force + 3 * i, 3 * sizeof(double));
    if (island) {
      memcpy(undo->step.v1 + 3 * answer->slot, note->laws.v2 + 3 * i, 3 * sizeof(double));
      s2_step_free_body(&undo->step, answer->slot);
    }
  }
  s2_arena_rewind(undo->arena, mark);
}
