// Derivatives of force laws on the bodies of the two-stage flow. Stage 1 evaluates the laws at (q0,
// u), stage 2 at (q1, u).
#include "diff/step/rattle_undo.h"

#include <string.h>

static const S2LawAnswer *laws_of_stage(const S2RattlePiece *piece, bool second) {
  return piece->answers + (second ? piece->laws : 0);
}

void s2_rattle_put_laws(S2RattlePiece *piece, bool second) {
  const S2LawAnswer *answers = laws_of_stage(piece, second);
  for (int i = 0; i < piece->laws; i++) {
    int32_t node = piece->rattle.step->node_of[answers[i].slot];
    memcpy(piece->rattle.force + 3 * node, answers[i].change, sizeof answers[i].change);
  }
}

void s2_rattle_put_slopes(S2RattlePiece *piece) {
  const S2LawAnswer *answers = laws_of_stage(piece, false);
  double *slope = piece->rattle.slope;
  for (int i = 0; i < piece->laws; i++) {
    int32_t node = piece->rattle.step->node_of[answers[i].slot];
    for (int t = 0; t < answers[i].terms && !answers[i].held; t++) {
      const S2ForceTerm *term = &answers[i].term[t].term;
      bool own = term->part >= S2_BODY_OMEGA && term->slot == answers[i].slot;
      if (own && (int)term->part % 3 == term->number) {
        slope[3 * node + term->number] -= term->by;
      }
    }
    for (int c = 3 * node; c < 3 * node + 3; c++) {
      slope[c] = fmax(slope[c], 0);
    }
  }
}

void s2_rattle_laws_turn(const S2RattlePiece *piece, double *turned) {
  const S2Rattle *rattle = &piece->rattle;
  const int32_t *node_of = rattle->step->node_of;
  const S2LawAnswer *answers = laws_of_stage(piece, false);
  for (int i = 0; i < piece->laws; i++) {
    int32_t node = node_of[answers[i].slot];
    for (int t = 0; t < answers[i].terms && !answers[i].held; t++) {
      const S2LawTerm *seen = &answers[i].term[t];
      if (seen->of == S2_LAW_OWN && seen->term.part >= S2_BODY_OMEGA) {
        int at = 3 * node_of[seen->term.slot] + (int)seen->term.part % 3;
        turned[at] += piece->half * seen->term.by * piece->p[3 * node + seen->term.number];
      }
    }
    for (int c = 3 * node; c < 3 * node + 3; c++) {
      turned[c] += piece->half * rattle->slope[c] * piece->p[c];
    }
  }
}

void s2_rattle_laws_vjp(S2RattlePiece *piece, bool second) {
  const S2Rattle *rattle = &piece->rattle;
  const S2Step *step = rattle->step;
  S2Arena *arena = piece->undo->arena;
  const S2LawAnswer *answers = laws_of_stage(piece, second);
  S2ArenaMark mark = s2_arena_mark(arena);
  int slots = step->world->bodies.count;
  double *v = S2_TAKE_ZEROED(arena, double, 3 * slots);
  bool *own = S2_TAKE_ZEROED(arena, bool, slots);
  for (int i = 0; i < rattle->nodes; i++) {
    own[rattle->island->node[i]] = true;
  }
  for (int i = 0; i < piece->laws; i++) {
    bool agrees = !second && !answers[i].held;
    S2LawsSeen seen = {.undo = piece->undo,
                       .note = piece->note,
                       .q = second ? piece->q1_bar : piece->q0_bar,
                       .v = v,
                       .since = rattle->done + (second ? rattle->h : 0),
                       .since_bar = second ? &piece->end_bar : &piece->start_bar,
                       .own = agrees ? own : NULL};
    double bar[3];
    for (int c = 0; c < 3; c++) {
      bar[c] = piece->half * piece->p[3 * step->node_of[answers[i].slot] + c];
    }
    s2_undo_law_answer(&seen, &answers[i], bar);
  }
  double *to = second ? piece->u_bar : piece->v0_bar; // v0: the velocity at which the laws were
                                                      // evaluated
  for (int i = 0; i < 3 * rattle->nodes; i++) {
    to[i] += v[3 * rattle->island->node[i / 3] + i % 3];
  }
  s2_arena_rewind(arena, mark);
}
