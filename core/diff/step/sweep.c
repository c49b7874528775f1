// The reverse sweep over the notes of a step. Each act has a function that undoes it.
#include "diff/step/undo.h"

#include <assert.h>
#include <string.h>

// For acts and their records see dynamics/trace/notes.h.
static S2UndoAct *const undo_act[S2_ACTS] = {
    [S2_ACT_SUBSTEP] = s2_undo_substep,
    [S2_ACT_FREE] = s2_undo_free,
    [S2_ACT_RESET] = s2_undo_reset,
    [S2_ACT_RESET_V2] = s2_undo_reset_v2,
    [S2_ACT_LINEARISE] = s2_undo_linearise,
    [S2_ACT_V2_IS_V1] = s2_undo_v2_is_v1,
    [S2_ACT_V1_IS_V2] = s2_undo_v1_is_v2,
    [S2_ACT_INTEGRATE] = s2_undo_integrate,
    [S2_ACT_Q0_IS_Q1] = s2_undo_q0_is_q1,
    [S2_ACT_NEXT] = s2_undo_next,
    [S2_ACT_COMMIT] = s2_undo_commit,
    [S2_ACT_LAWS] = s2_undo_laws,
    [S2_ACT_LAWS_END] = s2_undo_laws_end,
    [S2_ACT_DRIFT] = s2_undo_drift,
    [S2_ACT_SOLVE] = s2_undo_solve,
    [S2_ACT_RATTLE] = s2_undo_rattle,
    [S2_ACT_FLOWED] = s2_undo_flowed,
    [S2_ACT_BALANCE] = s2_undo_balance,
    [S2_ACT_SHORT] = s2_undo_short,
    [S2_ACT_RESTART] = s2_undo_restart,
    [S2_ACT_RECALL] = s2_undo_recall,
    [S2_ACT_REBOUND] = s2_undo_rebound,
    [S2_ACT_KEEP] = s2_undo_keep,
    [S2_ACT_REFLECT] = s2_undo_reflect,
    [S2_ACT_BLEND] = s2_undo_blend,
    [S2_ACT_REWIND] = s2_undo_rewind,
    [S2_ACT_HIT] = s2_undo_hit,
    [S2_ACT_STOP] = s2_undo_stop,
    [S2_ACT_SLOW] = s2_undo_slow,
    [S2_ACT_PROJECT] = s2_undo_project,
    [S2_ACT_SHAKE] = s2_undo_shake,
    [S2_ACT_FEEDBACK] = s2_undo_feedback,
    [S2_ACT_SPIN] = s2_undo_spin,
    [S2_ACT_SPIN_V2] = s2_undo_spin_v2,
    [S2_ACT_SPIN_DQ] = s2_undo_spin_dq,
    [S2_ACT_CAP] = s2_undo_cap,
    [S2_ACT_GO_BACK] = s2_undo_go_back,
    [S2_ACT_INTERVAL] = s2_undo_interval,
    [S2_ACT_STRUCK] = s2_undo_struck,
    [S2_ACT_SET_OUT] = s2_undo_set_out,
    [S2_ACT_FLY] = s2_undo_fly,
    [S2_ACT_PIECE] = s2_undo_piece,
    [S2_ACT_ARRIVE] = s2_undo_arrive,
    [S2_ACT_REPAY] = s2_undo_repay,
    [S2_ACT_INTERVAL_END] = s2_undo_interval_end,
};

// Builds a world from the bodies, pieces and joints in the notes.
static S2World *sweep_view(const S2Notes *notes, S2Arena *arena) {
  const S2Fixed *fixed = notes->fixed;
  S2World *world = S2_TAKE_ZEROED(arena, S2World, 1);
  world->bodies.at = fixed->body;
  world->bodies.count = fixed->bodies;
  world->order.at = fixed->order_of;
  world->order.count = fixed->order;
  world->pieces.at = fixed->piece;
  world->pieces.count = fixed->pieces;
  world->vertices.at = fixed->vertex;
  world->vertices.count = fixed->vertices;
  world->joint_order.at = fixed->joint_order_of;
  world->joint_order.count = fixed->joint_order;
  world->joints.at = S2_TAKE(arena, S2Joint, notes->joint_slots);
  world->joints.count = notes->joint_slots;
  world->kept.def = fixed->def;
  s2_world_changed(world);
  return world;
}

// `undo` is zero-initialised. Fields are set one by one, because assigning whole structures would
// copy large amounts of data.
static void sweep_begin(S2Undo *undo, const S2Notes *notes, S2WorldGradient *gradient,
                        S2Arena *arena) {
  // Arrays of the step, and their adjoints.
  size_t count = 3 * (size_t)notes->slots, joints = (size_t)notes->joint_slots;
  size_t rows = S2_JOINT_ROWS * joints;
  S2Step *step = &undo->step;
  S2StepAdjoint *bar = &undo->bar;
  double **const of_slots[] = {
      &step->q0,         &step->v0,        &step->force,       &step->mass,      &step->free_v,
      &step->v1,         &step->v2,        &step->q1,          &bar->q0,         &bar->v0,
      &bar->force,       &bar->mass,       &bar->free_v,       &bar->v1,         &bar->v2,
      &bar->q1,          &undo->displaced, &undo->start,       &undo->ground0,   &undo->ground1,
      &undo->reflected,  &undo->back,      &undo->held,        &undo->law,       &undo->law_q,
      &undo->law_v,      &undo->law_free,  &undo->law_flow,    &undo->flowed_q1, &undo->flowed_v2,
      &bar->given_start, &bar->given_end,  &step->given_start, &step->given_end, &undo->ground_v0,
      &undo->ground_v,
  };
  double **const of_rows[] = {&step->joint_impulse, &bar->joint_impulse, &undo->impulse_bar,
                              &undo->waiting_impulse};
  enum { SLOTS = sizeof of_slots / sizeof *of_slots, ROWS = sizeof of_rows / sizeof *of_rows };
  // Allocate one block, which is zeroed at once.
  double *v = S2_TAKE_ZEROED(arena, double, SLOTS *count + ROWS * rows + 6 * joints);
  for (int i = 0; i < SLOTS; i++, v += count) {
    *of_slots[i] = v;
  }
  for (int i = 0; i < ROWS; i++, v += rows) {
    *of_rows[i] = v;
  }
  step->pushed = v;
  undo->feed = v + 2 * joints;
  undo->waiting_reaction = v + 3 * joints;
  // Restore the world before the step, and the values that user callbacks returned in the step.
  undo->back_at = S2_NONE;
  undo->notes = notes;
  undo->gradient = bar->gradient = gradient;
  undo->arena = step->arena = arena;
  undo->world = step->world = sweep_view(notes, arena);
  undo->world->v.at = step->v0; // only read for data on which no row depends
  s2_undo_open_impulses(undo);
  s2_undo_answer(undo);
  // Restore the joint data, and find the bodies that are nodes.
  step->dt = notes->fixed->def.dt / notes->fixed->def.substeps;
  if (joints > 0) {
    undo->remade = S2_TAKE_ZEROED(arena, S2Remade *, notes->at.count);
    undo->drives = S2_TAKE(arena, S2Drive, joints);
    step->stiff = S2_TAKE_ZEROED(arena, bool, joints);
    step->turn = S2_TAKE(arena, S2Rot, notes->slots);
  }
  step->node_of = S2_TAKE(arena, int32_t, notes->slots);
  for (int i = 0; i < notes->slots; i++) {
    step->node_of[i] = S2_GROUND;
  }
}

static bool sweep_has_touches(const S2Note *note) {
  return note->of != NULL && note->of->touch_index != NULL;
}

// Forgets which touches the notes `from` to `to` have linearised.
static void sweep_forget_late(const S2Notes *notes, int from, int to, bool *is_late) {
  for (int i = from; i < to; i++) {
    const S2Note *note = s2_note_at(notes, i);
    if (note->act == S2_ACT_LINEARISE) {
      is_late[note->of->touch_index[0]] = false;
    }
  }
}

// Finds the touches of a note that an earlier S2_ACT_LINEARISE linearised after the same free
// motion and in the same interval of an island.
static void sweep_find_late(S2Undo *undo) {
  const S2Notes *notes = undo->notes;
  int touches = notes->touches;
  // Adjoints of contacts: 2 per touch, and 4 per touch for impacts.
  undo->bound = S2_TAKE_ZEROED(undo->arena, double, 12 * touches);
  undo->more = undo->bound + 2 * (size_t)touches;
  undo->pushed = undo->bound + 4 * (size_t)touches;
  undo->dragged = undo->bound + 6 * (size_t)touches;
  undo->struck = undo->bound + 8 * (size_t)touches;
  undo->touches = touches;
  // The contact points of linearised touches are not taken at q0.
  if (!notes->linearised) {
    return;
  }
  undo->late_bar = S2_TAKE_ZEROED(undo->arena, S2PointBar, 2 * touches);
  const bool **late = S2_TAKE_ZEROED(undo->arena, const bool *, notes->at.count);
  undo->late = late;
  bool *is_late = S2_TAKE_ZEROED(undo->arena, bool, touches);
  int island = 0; // index of the first interval of the current island
  for (int i = 0; i < notes->at.count; i++) {
    const S2Note *note = s2_note_at(notes, i);
    // Each attempt of a substep linearises again.
    if (note->act == S2_ACT_FREE) {
      memset(is_late, 0, sizeof(bool) * (size_t)touches);
    }
    // Each interval begins with contact points at its own q0.
    if (note->act == S2_ACT_INTERVAL) {
      island = note->interval.earlier == 0 ? i : island;
      sweep_forget_late(notes, island, i, is_late);
    }
    if (note->act == S2_ACT_LINEARISE) {
      assert(sweep_has_touches(note));
      is_late[note->of->touch_index[0]] = true;
    } else if (sweep_has_touches(note) &&
               (note->act != S2_ACT_PROJECT || note->solve.from == S2_PROJECT_SOLVED)) {
      bool *those = S2_TAKE(undo->arena, bool, note->of->island.touches);
      for (int k = 0; k < note->of->island.touches; k++) {
        those[k] = is_late[note->of->touch_index[k]];
      }
      late[i] = those;
    }
  }
}

// The sweep visits the end of a substep first. There it resets joints and time to the start of the
// substep.
static void sweep_open_substep(S2Undo *undo) {
  undo->substep = s2_undo_last(undo, S2_ACT_SUBSTEP);
  undo->world->kept.time = undo->substep->t;
  s2_note_joints(undo->notes, undo->substep, undo->world->joints.at);
}

static void sweep_act(S2Undo *undo, const S2Note *note) {
  undo->step.h = note->h;
  undo->step.t = note->t;
  if (note->act == S2_ACT_COMMIT) {
    sweep_open_substep(undo);
  }
  S2ArenaMark mark = s2_arena_mark(undo->arena);
  bool touches = sweep_has_touches(note);
  if (touches) {
    s2_undo_open(undo, note);
  }
  undo_act[note->act](undo, note);
  if (touches) {
    undo->open.note = NULL;
    if (note->act != S2_ACT_ARRIVE) { // the scratch memory of this act is still in use
      s2_arena_rewind(undo->arena, mark);
    }
  }
  // Restore the adjoint of the q1 from which an abandoned path (S2_ACT_GO_BACK) started.
  if (undo->back_at == undo->index) {
    for (size_t i = 0; i < 3 * (size_t)undo->notes->slots; i++) {
      undo->bar.q1[i] += undo->back[i];
      undo->back[i] = 0;
    }
    undo->back_at = S2_NONE;
  }
}

S2Status s2_trace_sweep(const S2Trace *trace, unsigned other, unsigned *found,
                        S2WorldGradient *gradient, S2Arena *arena) {
  const S2Notes *notes = &trace->notes;
  const S2Fixed *fixed = notes->fixed;
  // Check that a derivative exists and that there is memory for it.
  if (notes->at.count == 0) {
    return s2_error(S2_INVALID, "the trace is empty: trace a step first");
  }
  if (notes->reason != NULL) {
    return s2_error(S2_INVALID,
                    "a step with %s has no derivative: leave it out of the steps that the loss "
                    "depends on, or give such a world plain numbers (sim.stop_gradient)",
                    notes->reason);
  }
  if (gradient->slots < notes->slots || gradient->pieces < fixed->pieces ||
      gradient->vertices < fixed->vertices || gradient->joints < notes->joint_slots) {
    return s2_error(S2_INVALID, "the gradient does not fit the world (s2_world_gradient_fit)");
  }
  // Process notes from the last to the first.
  gradient->flags |= notes->unsolved ? S2_GRADIENT_PARTIAL : 0;
  S2ArenaMark mark = s2_arena_mark(arena);
  S2Status failed = s2_ok();
  S2Undo undo = {.failed = &failed, .other = other};
  sweep_begin(&undo, notes, gradient, arena);
  sweep_find_late(&undo);
  s2_quiet_look_at_step(&undo);
  // User forces act only until the end of the step.
  for (int i = 0; i < fixed->order; i++) {
    memset(gradient->f + 3 * fixed->order_of[i], 0, 3 * sizeof(double));
  }
  for (undo.index = notes->at.count - 1; undo.index >= 0 && s2_undo_good(&undo); undo.index--) {
    sweep_act(&undo, s2_note_at(notes, undo.index));
    if (failed.code == S2_OK && undo.world->refused.code != S2_OK) {
      failed = s2_error(
          S2_INVALID,
          "a repeated step called the callbacks of the program differently (this is a bug)");
    }
  }
  // From here on the adjoints of impulses are included in the adjoints of the step.
  s2_undo_begin_impulses(&undo);
  *found = undo.found;
  s2_arena_rewind(arena, mark);
  return failed;
}
