// Writes the record of each act. All functions do nothing if the step records no notes.
#include "dynamics/trace/notes.h"

#include "base/number.h"

#include <stddef.h>
#include <string.h>

static void *note_copy(S2Notes *notes, const void *from, size_t bytes) {
  void *to = s2_note_take(notes, bytes);
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  return to;
}

// Copies data into the notes. If the stored data `like` are equal, uses them instead of a copy.
// `like` may be NULL.
static void *note_copy_like(S2Notes *notes, const void *from, size_t bytes, const void *like) {
  return like != NULL && (bytes == 0 || memcmp(like, from, bytes) == 0)
             ? (void *)like
             : note_copy(notes, from, bytes);
}

static double *note_numbers(S2Notes *notes, const double *from, int count) {
  return note_copy(notes, from, sizeof(double) * (size_t)count);
}

S2Note *s2_note_add(const S2Step *step, S2Act act) {
  S2Notes *notes = step->world->notes;
  S2Note *note = s2_note_take(notes, sizeof(S2Note));
  *note = (S2Note){.act = act, .h = step->h, .t = step->t, .holds = step->holds};
  s2_array_append(notes->at)->note = note;
  return note;
}

// ---- Substeps -----------------------------------------------------------------------------------

void s2_note_substep(const S2Step *step) {
  S2World *world = step->world;
  S2Notes *notes = world->notes;
  if (notes == NULL) {
    return;
  }
  // In the first substep, look up the data that many steps share.
  if (notes->fixed == NULL) {
    notes->fixed = s2_fixed_of(world);
    notes->expected = notes->fixed->expected;
    notes->slots = world->bodies.count;
    notes->joint_slots = world->joints.count;
  }
  notes->latest.count = 0;
  notes->substep = notes->at.count;
  S2Note *note = s2_note_add(step, S2_ACT_SUBSTEP);
  note->t = world->kept.time;
  // Copy the data of joints that the previous substep changed.
  size_t joints = (size_t)notes->joint_slots;
  note->substep.impulse = s2_note_take(notes, sizeof(double) * S2_JOINT_ROWS * joints);
  note->substep.reaction_time = s2_note_take(notes, sizeof(double) * joints);
  bool locks = false;
  for (int i = 0; i < notes->joint_slots; i++) {
    const S2Joint *joint = &world->joints.at[i];
    memcpy(note->substep.impulse + S2_JOINT_ROWS * i, joint->impulse, sizeof joint->impulse);
    note->substep.reaction_time[i] = joint->reaction_time;
    locks |= joint->type == S2_LOCK;
  }
  if (locks) {
    note->substep.goals = s2_note_take(notes, sizeof(double) * S2_NOTE_GOALS * joints);
    for (int i = 0; i < notes->joint_slots; i++) {
      double *to = note->substep.goals + S2_NOTE_GOALS * i;
      memcpy(to, world->joints.at[i].goal, 3 * sizeof(double));
      memcpy(to + 3, world->joints.at[i].rate, 3 * sizeof(double));
    }
  }
}

void s2_note_joints(const S2Notes *notes, const S2Note *substep, S2Joint *joints) {
  if (notes->joint_slots > 0) {
    memcpy(joints, notes->fixed->joint, sizeof(S2Joint) * (size_t)notes->joint_slots);
  }
  for (int i = 0; i < notes->joint_slots; i++) {
    const double *goals = substep->substep.goals;
    memcpy(joints[i].impulse, substep->substep.impulse + S2_JOINT_ROWS * i,
           sizeof joints[i].impulse);
    joints[i].reaction_time = substep->substep.reaction_time[i];
    if (goals != NULL) {
      memcpy(joints[i].goal, goals + S2_NOTE_GOALS * i, sizeof joints[i].goal);
      memcpy(joints[i].rate, goals + S2_NOTE_GOALS * i + 3, sizeof joints[i].rate);
    }
  }
}

// ---- Acts on all bodies -------------------------------------------------------------------------

static bool *note_ahead(const S2Step *step) {
  S2Notes *notes = step->world->notes;
  return step->world->kept.def.beta < 1 // otherwise v1 moves all bodies
             ? note_copy(notes, step->ahead, sizeof(bool) * (size_t)notes->slots)
             : NULL;
}

static S2Drive *note_drives(const S2World *world) {
  bool any = false;
  for (int i = 0; i < world->drives.count; i++) {
    any |= world->drives.at[i].valid;
  }
  size_t bytes = sizeof(S2Drive) * (size_t)world->drives.count;
  return any ? note_copy(world->notes, world->drives.at, bytes) : NULL;
}

void s2_note_free(const S2Step *step) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add(step, S2_ACT_FREE);
    note->free.q0 = note_numbers(notes, step->q0, 3 * notes->slots);
    note->free.v0 = note_numbers(notes, step->v0, 3 * notes->slots);
    note->free.force = note_numbers(notes, step->force, 3 * notes->slots);
    note->free.drives = note_drives(step->world);
  }
}

// Returns true if v1 has been solved since the free motion. If not, no act reads it.
static bool note_solved_since_free(const S2Notes *notes) {
  S2Act act = S2_ACT_RESET;
  for (int i = notes->at.count - 1; i >= 0 && act != S2_ACT_FREE; i--) {
    act = s2_note_at(notes, i)->act;
    if (act == S2_ACT_SOLVE) {
      return true;
    }
  }
  return false;
}

void s2_note_plain(const S2Step *step, S2Act act, const double *before) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add(step, act);
    bool read = act != S2_ACT_RESET || note_solved_since_free(notes);
    note->plain.before =
        before != NULL && read ? note_numbers(notes, before, 3 * notes->slots) : NULL;
  }
}

void s2_note_integrate(const S2Step *step) {
  if (step->world->notes != NULL) {
    s2_note_add(step, S2_ACT_INTEGRATE)->carried.ahead = note_ahead(step);
  }
}

void s2_note_end(const S2Step *step, S2Act act) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add(step, act);
  size_t bytes = sizeof(double) * 3 * (size_t)notes->slots;
  note->end.q1 = note_copy(notes, step->q1, bytes);
  note->end.v2 = note_copy(notes, step->v2, bytes);
  note->end.v1 = note_copy_like(notes, step->v1, bytes, note->end.v2);
}

// ---- Islands ------------------------------------------------------------------------------------

static double *note_of_nodes(S2Notes *notes, const S2Island *island, const double *from) {
  double *to = s2_note_take(notes, sizeof(double) * 3 * (size_t)island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(to + 3 * i, from + 3 * island->node[i], 3 * sizeof(double));
  }
  return to;
}

static bool note_nodes_are(const S2Island *island, const double *a, const double *b) {
  bool same = true;
  for (int i = 0; i < island->nodes && same; i++) {
    int at = 3 * island->node[i];
    same = s2_same_bits(a + at, b + at, 3);
  }
  return same;
}

static bool note_are_nodes(const S2Island *island, const double *of, const double *all) {
  bool same = of != NULL;
  for (int i = 0; i < island->nodes && same; i++) {
    same = s2_same_bits(of + 3 * i, all + 3 * island->node[i], 3);
  }
  return same;
}

// Returns the last note of an act on an island of the same size, which usually is the same island.
// S2_ACTS stands for any act. Returns NULL if the last few notes contain no such note.
static const S2Note *note_last_like(const S2Notes *notes, const S2Island *island, S2Act act) {
  enum { NEAR = 8 };
  int end = notes->at.count > NEAR ? notes->at.count - NEAR : 0;
  for (int i = notes->at.count - 1; i >= end; i--) {
    // Comparing counts is sufficient here, because the copied data are compared later.
    const S2Note *note = s2_note_at(notes, i);
    if (note->of != NULL && (act == S2_ACTS || act == note->act) &&
        note->of->island.nodes == island->nodes && note->of->island.joints == island->joints) {
      return note;
    }
  }
  return NULL;
}

S2Note *s2_note_add_island(const S2Step *step, const S2Island *island, S2Act act) {
  S2Notes *notes = step->world->notes;
  const S2Note *like = note_last_like(notes, island, S2_ACTS);
  S2Note *note = s2_note_add(step, act);
  S2NoteIsland *of = note->of = s2_note_take(notes, sizeof(S2NoteIsland));
  *of = (S2NoteIsland){.island = *island};
  of->island.node = note_copy_like(notes, island->node, sizeof(int32_t) * (size_t)island->nodes,
                                   like == NULL ? NULL : like->of->island.node);
  of->island.joint = note_copy_like(notes, island->joint, sizeof(int32_t) * (size_t)island->joints,
                                    like == NULL ? NULL : like->of->island.joint);
  of->island.touch = NULL;
  of->island.touches = 0;
  of->island.motion = NULL;
  return note;
}

void s2_note_island(const S2Step *step, const S2Island *island, S2Act act, const double *before) {
  if (step->world->notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, act);
    note->plain.before = before == NULL ? NULL : note_of_nodes(step->world->notes, island, before);
  }
}

void s2_note_struck(const S2Step *step, const S2Island *island, const double *before,
                    const struct S2SmallImpact *impact) {
  s2_note_island(step, island, S2_ACT_STRUCK, before);
  const S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    s2_note_at(notes, notes->at.count - 1)->of->impact = impact;
  }
}

// The record of a touch begins with the part of S2Touch before its points. Then each point has a
// byte, 1 if it carries an impulse, followed by its geometry. The impulses are recorded
// only for viscosity and event stepping, where the derivative reads them.
enum { HEAD_OF_TOUCH = offsetof(S2Touch, points) };

static size_t note_point_size(const S2WorldDef *def, const S2Touch *touch) {
  bool whole = s2_world_way(def) == S2_EVENT || touch->viscosity > 0;
  return whole ? sizeof(S2TouchPoint) : offsetof(S2TouchPoint, normal_impulse);
}

static unsigned char note_pressed(const S2TouchPoint *point) {
  return point->normal_impulse > 0;
}

void s2_note_touch(const S2WorldDef *def, const void *kept, S2Touch *touch) {
  const unsigned char *from = kept;
  memcpy(touch, from, HEAD_OF_TOUCH);
  size_t size = note_point_size(def, touch);
  memset(touch->points, 0, sizeof touch->points);
  for (int k = 0; k < touch->count; k++) {
    const unsigned char *point = from + HEAD_OF_TOUCH + (size_t)k * (1 + size);
    memcpy(&touch->points[k], point + 1, size);
    touch->points[k].pressed = point[0] != 0;
  }
}

static bool note_has_touch(const S2WorldDef *def, const void *kept, const S2Touch *touch) {
  // Do not compare impulses that the derivative does not read.
  const unsigned char *x = kept;
  bool same = kept != NULL && memcmp(x, touch, HEAD_OF_TOUCH) == 0;
  size_t size = note_point_size(def, touch);
  for (int k = 0; k < touch->count && same; k++) {
    const unsigned char *point = x + HEAD_OF_TOUCH + (size_t)k * (1 + size);
    same = point[0] == note_pressed(&touch->points[k]) &&
           memcmp(point + 1, &touch->points[k], size) == 0;
  }
  return same;
}

// Records a touch. The same record is reused until the touch changes.
static const void *note_keep_touch(const S2Step *step, int32_t index, const S2Touch *touch) {
  S2Notes *notes = step->world->notes;
  const S2WorldDef *def = &step->world->kept.def;
  // Extend the list of last records to this touch. NULL means that there is no record in this step.
  while (notes->latest.count <= index) {
    *s2_array_append(notes->latest) = NULL;
  }
  notes->touches = notes->touches > index ? notes->touches : index + 1;
  // If the touch has changed, record a copy, without the parts that the derivative does not read.
  if (!note_has_touch(def, notes->latest.at[index], touch)) {
    size_t size = note_point_size(def, touch);
    unsigned char *to = s2_note_take(notes, HEAD_OF_TOUCH + (size_t)touch->count * (1 + size));
    memcpy(to, touch, HEAD_OF_TOUCH);
    for (int k = 0; k < touch->count; k++) {
      unsigned char *point = to + HEAD_OF_TOUCH + (size_t)k * (1 + size);
      point[0] = note_pressed(&touch->points[k]);
      memcpy(point + 1, &touch->points[k], size);
    }
    notes->latest.at[index] = to;
  }
  return notes->latest.at[index];
}

// Records the touches that have rows, and their choices. If `choices` is NULL, records all touches.
static void note_keep_touches(const S2Step *step, const S2Island *island, const S2Choice *choices,
                              const S2Touch *touches, S2Note *note) {
  S2Notes *notes = step->world->notes;
  S2NoteIsland *of = note->of;
  int count = 0, used = 0;
  // Count the touches with rows and the used points.
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    bool first = choices != NULL && choices[2 * index].use;
    bool second = choices != NULL && choices[2 * index + 1].use;
    count += choices == NULL || first || second;
    used += first + second;
  }
  // Record the touches, in the order of the island, with the choices of their points.
  of->island.touches = count;
  of->touch = s2_note_take(notes, sizeof(const void *) * (size_t)count);
  of->biases = s2_note_take(notes, sizeof(double) * (size_t)used);
  of->island.touch = s2_note_take(notes, sizeof(int32_t) * (size_t)count);
  of->touch_index = s2_note_take(notes, sizeof(int32_t) * (size_t)count);
  of->choices = s2_note_take(notes, 2 * (size_t)count);
  int n = 0;
  const S2Choice none = {0};
  used = 0;
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    if (choices == NULL || choices[2 * index].use || choices[2 * index + 1].use) {
      of->touch[n] = note_keep_touch(step, index, &touches[index]);
      of->touch_index[n] = index;
      of->island.touch[n] = n;
      for (int k = 0; k < 2; k++) {
        const S2Choice choice = choices == NULL ? none : choices[2 * index + k];
        of->choices[2 * n + k] = (unsigned char)((int)choice.use | (int)choice.target << 1);
        if (choice.use) {
          of->biases[used++] = choice.bias;
        }
      }
      n += 1;
    }
  }
}

void s2_note_choices(const S2NoteIsland *of, S2Choice *choices) {
  int used = 0;
  for (int i = 0; i < 2 * of->island.touches; i++) {
    bool use = of->choices[i] & 1;
    choices[i] = (S2Choice){.use = use, .target = (S2Target)(of->choices[i] >> 1)};
    if (use) {
      choices[i].bias = of->biases[used++];
    }
  }
}

// Records the data of joints. `displaces` is true for a projection, because its rows do not use
// impulses.
static void note_keep_joints(const S2Step *step, const S2Island *island, bool displaces,
                             S2Note *note) {
  S2Notes *notes = step->world->notes;
  bool pushed = false, stiff = false, changed = false;
  const double *began = s2_note_at(notes, notes->substep)->substep.impulse;
  // Check if there is anything to record. Usually there is not.
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const double *impulse = step->joint_impulse + S2_JOINT_ROWS * slot;
    pushed |= step->pushed[2 * slot] != 0 || step->pushed[2 * slot + 1] != 0;
    stiff |= step->stiff[slot];
    changed |= !s2_same_bits(impulse, began + S2_JOINT_ROWS * slot, S2_JOINT_ROWS);
  }
  // Record the impulses used by rows, the given forces, and the joints that were too stiff.
  S2NoteIsland *of = note->of;
  size_t count = (size_t)island->joints;
  if (changed && !displaces) {
    of->impulse = s2_note_take(notes, sizeof(double) * S2_JOINT_ROWS * count);
  }
  of->pushed = pushed ? s2_note_take(notes, sizeof(double) * 2 * count) : NULL;
  of->stiff = stiff ? s2_note_take(notes, sizeof(bool) * count) : NULL;
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    if (of->impulse != NULL) {
      memcpy(of->impulse + S2_JOINT_ROWS * i, step->joint_impulse + S2_JOINT_ROWS * slot,
             sizeof(double) * S2_JOINT_ROWS);
    }
    if (pushed) {
      memcpy(of->pushed + 2 * i, step->pushed + 2 * slot, 2 * sizeof(double));
    }
    if (stiff) {
      of->stiff[i] = step->stiff[slot];
    }
  }
}

// ---- Solves -------------------------------------------------------------------------------------

void s2_note_solve(const S2Step *step, const S2Island *island, const S2Choice *choices,
                   S2SolveKind kind, const S2Assembly *assembly, const double *v,
                   const S2Solution *solution) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add_island(step, island, S2_ACT_SOLVE);
  note_keep_touches(step, island, choices, step->touches, note);
  note_keep_joints(step, island, s2_solve_traits(kind).displacements, note);
  note->solve.kind = kind;
  note->solve.into_v1 = v == step->v1;
  note->solve.rows = assembly->problem.rows;
  note->solve.fraction = 1;
  // Skip the copy if the velocities before the solve are the free motion. This is the usual case.
  note->solve.before =
      note_nodes_are(island, v, step->free_v) ? NULL : note_of_nodes(notes, island, v);
  note->of->lambda = note_numbers(notes, solution->lambda, note->solve.rows);
  note->solve.x = note_numbers(notes, solution->v, 3 * assembly->problem.nodes);
}

void s2_note_fraction(const S2Step *step, double fraction) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    notes->at.at[notes->at.count - 1].note->solve.fraction = fraction;
  }
}

void s2_note_linearise(const S2Step *step, int32_t touch, double until, bool moves) {
  if (step->world->notes == NULL) {
    return;
  }
  // Record the touch as an island with one touch and no nodes.
  int32_t index[1] = {touch};
  S2Island one = {.touches = 1, .touch = index};
  S2Note *note = s2_note_add_island(step, &one, S2_ACT_LINEARISE);
  note_keep_touches(step, &one, NULL, step->touches, note);
  note->carried.ahead = note_ahead(step);
  note->carried.until = until;
  note->carried.moves = moves;
  step->world->notes->linearised = true;
}

void s2_note_rattle(const S2Step *step, const S2Island *island, const S2Choice *choices,
                    const S2RattleNote *rattle, int numbers) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Act act = choices == NULL ? S2_ACT_RATTLE : S2_ACT_PIECE;
    S2Note *note = s2_note_add_island(step, island, act);
    if (choices != NULL) {
      note_keep_touches(step, island, choices, step->touches, note);
    }
    S2LawAnswer *kept = s2_note_take(notes, sizeof *kept * (size_t)rattle->laws);
    for (int i = 0; i < rattle->laws; i++) {
      kept[i] = rattle->answers[i];
    }
    note->rattle = *rattle;
    note->rattle.answers = kept;
    note->rattle.piece = note_numbers(notes, rattle->piece, numbers);
  }
}

void s2_note_short(const S2Step *step, const S2Island *island, double fraction) {
  if (step->world->notes != NULL) {
    s2_note_add_island(step, island, S2_ACT_SHORT)->scaled.fraction = fraction;
  }
}

// ---- Projections --------------------------------------------------------------------------------

void s2_note_project(const S2Step *step, const S2Island *island, S2ProjectRows from,
                     const S2Choice *choices, double stiffness, double fraction,
                     const S2Assembly *assembly, const S2Solution *solution) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add_island(step, island, S2_ACT_PROJECT);
  note_keep_touches(step, island, choices, step->touches, note);
  // Record the touches at the time of the solve, which its rows use.
  if (from == S2_PROJECT_SOLVED) {
    S2NoteIsland *of = note->of;
    of->solved = s2_note_take(notes, sizeof(const void *) * (size_t)of->island.touches);
    for (int i = 0; i < of->island.touches; i++) {
      of->solved[i] =
          note_keep_touch(step, of->touch_index[i], &step->touches_solved[of->touch_index[i]]);
    }
  }
  note_keep_joints(step, island, true, note);
  note->solve.kind = S2_SOLVE_PROJECTION;
  note->solve.from = from;
  note->of->stiffness = stiffness;
  note->solve.fraction = fraction;
  note->solve.rows = assembly->problem.rows;
  note->solve.before = note_of_nodes(notes, island, step->q1);
  note->of->lambda = note_numbers(notes, solution->lambda, note->solve.rows);
  note->solve.x = note_numbers(notes, solution->v, 3 * assembly->problem.nodes);
}

void s2_note_shake(const S2Step *step, const S2Island *island, const double *start,
                   const double *dq, int rows, const double *lambda, bool of_motion) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_SHAKE);
    note_keep_joints(step, island, true, note);
    note->solve.kind = S2_SOLVE_PROJECTION;
    note->solve.fraction = 1;
    note->solve.of_motion = of_motion;
    note->solve.rows = rows;
    note->solve.before = note_numbers(notes, start, 3 * island->nodes);
    note->of->lambda = note_numbers(notes, lambda, rows);
    note->solve.x = note_numbers(notes, dq, 3 * island->nodes);
  }
}

void s2_note_feedback(const S2Step *step, const S2Island *island, double fraction,
                      const S2Shaken *shaken, const int32_t *ground, int grounds) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add_island(step, island, S2_ACT_FEEDBACK);
  note->solve.fraction = fraction;
  note->solve.rows = shaken->count;
  // Share data if possible. The velocities are usually the result of the last solve, and the
  // displacements are usually the result of the last projection.
  const S2Note *solve = note_last_like(notes, island, S2_ACT_SOLVE);
  const S2Note *shake = note_last_like(notes, island, S2_ACT_SHAKE);
  bool solved = solve != NULL && note_are_nodes(island, solve->solve.x, step->v2);
  bool alone = shake != NULL && shake->solve.rows == shaken->count;
  note->solve.before = solved ? solve->solve.x : note_of_nodes(notes, island, step->v2);
  note->solve.x = note_copy_like(notes, shaken->dq, sizeof(double) * 3 * (size_t)island->nodes,
                                 shake == NULL ? NULL : shake->solve.x);
  note->of->lambda = note_copy_like(notes, shaken->lambda, sizeof(double) * (size_t)shaken->count,
                                    alone ? shake->of->lambda : NULL);
  note->of->shaken = s2_note_take(notes, sizeof(S2ShakenRow) * (size_t)shaken->count);
  // Record the joint of each row, to which the impulse of the row belongs.
  for (int r = 0; r < shaken->count; r++) {
    const S2JointPart *of = &shaken->part[r];
    S2ShakenRow *row = &note->of->shaken[r];
    *row = (S2ShakenRow){.joint = of->joint, .row = of->row};
    memcpy(row->push, of->push, sizeof row->push);
  }
  note->of->ground = note_copy(notes, ground, sizeof(int32_t) * (size_t)grounds);
  note->of->grounds = grounds;
}

void s2_note_spin(const S2Step *step, const S2Island *island, bool from_v2) {
  if (step->world->notes != NULL) {
    s2_note_add_island(step, island, S2_ACT_SPIN)->spin.from_v2 = from_v2;
  }
}

void s2_note_set_spin(const S2Step *step, const S2Island *island, S2Act act, double spin,
                      const double *before) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, act);
    note->spin.value = spin;
    note->spin.before = note_numbers(notes, before, 3 * island->nodes);
  }
}

void s2_note_cap(const S2Step *step, const S2Island *island, double excess, const double *before) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_CAP);
    note->energy.loss = excess;
    note->energy.before = note_numbers(notes, before, 3 * island->nodes);
  }
}

void s2_note_go_back(const S2Step *step, const S2Island *island, int since, const double *q) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_GO_BACK);
    note->go_back.since = since;
    note->go_back.q1 = note_numbers(notes, q, 3 * island->nodes);
  }
}

// ---- Impacts ------------------------------------------------------------------------------------

void s2_note_impact(const S2Step *step, const S2Island *island, const S2Choice *choices, S2Act act,
                    const double *before) {
  if (step->world->notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, act);
    note_keep_touches(step, island, choices, step->touches, note);
    note->plain.before = before == NULL ? NULL : note_of_nodes(step->world->notes, island, before);
  }
}

void s2_note_keep(const S2Step *step, const S2Island *island, double fraction,
                  const double *pressed, const double *struck, const S2JointImpulses *held) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  size_t count = S2_TOUCH_IMPULSES * (size_t)island->touches, joints = (size_t)island->joints;
  S2Note *note = s2_note_add_island(step, island, S2_ACT_KEEP);
  note_keep_touches(step, island, NULL, step->touches, note);
  note->keep.fraction = fraction;
  note->keep.before = note_of_nodes(notes, island, step->v2);
  // Record the contact impulses of the motion, then the contact impulses of the impact.
  note->of->lambda = s2_note_take(notes, sizeof(double) * 2 * count);
  memcpy(note->of->lambda, pressed, sizeof(double) * count);
  memcpy(note->of->lambda + count, struck, sizeof(double) * count);
  // Record the joint impulses of the impact alone: the current impulses minus the impulses before
  // the impact.
  note->of->impulse = s2_note_take(notes, sizeof(double) * S2_JOINT_ROWS * joints);
  note->keep.reaction = s2_note_take(notes, sizeof(double) * 3 * joints);
  for (int i = 0; i < S2_JOINT_ROWS * island->joints; i++) {
    int32_t slot = island->joint[i / S2_JOINT_ROWS];
    int at = S2_JOINT_ROWS * slot + i % S2_JOINT_ROWS;
    note->of->impulse[i] = step->joint_impulse[at] - held->row[i];
  }
  for (int i = 0; i < 3 * island->joints; i++) {
    int at = 3 * island->joint[i / 3] + i % 3;
    note->keep.reaction[i] = step->joint_reaction[at] - held->reaction[i];
  }
}

void s2_note_blend(const S2Step *step, const S2Island *island, const S2Choice *choices, double e,
                   const double *reflected) {
  if (step->world->notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_BLEND);
    note_keep_touches(step, island, choices, step->touches, note);
    note->blend.e = e;
    note->blend.reflected = note_numbers(step->world->notes, reflected, 3 * island->nodes);
    note->blend.before = note_of_nodes(step->world->notes, island, step->v2);
  }
}

void s2_note_slow(const S2Step *step, const S2Island *island, double energy, bool fed,
                  const int32_t *ground, int grounds) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add_island(step, island, S2_ACT_SLOW);
  S2NoteIsland *of = note->of;
  note_keep_touches(step, island, NULL, step->touches_solved, note);
  note->energy.loss = energy;
  note->energy.fed = fed;
  note->energy.before = note_of_nodes(notes, island, step->v2);
  of->ground = note_copy(notes, ground, sizeof(int32_t) * (size_t)grounds);
  of->grounds = grounds;
  of->lambda = s2_note_take(notes, sizeof(double) * S2_TOUCH_IMPULSES * (size_t)island->touches);
  // Record the sums of the impulses of the motion and of impacts, as in the touches.
  for (int i = 0; i < S2_TOUCH_IMPULSES * island->touches; i++) {
    int k = i % S2_TOUCH_IMPULSES;
    const S2Touch *touch = &step->touches_solved[island->touch[i / S2_TOUCH_IMPULSES]];
    const S2TouchPoint *point = &touch->points[k / 2];
    double impulse = k % 2 == 0 ? point->normal_impulse : point->tangent_impulse;
    of->lambda[i] = k / 2 < touch->count ? impulse : 0;
  }
}

// ---- Event stepping ---------------------------------------------------------------------------

static void note_add_ground(const S2Step *step, int32_t slot, S2Note *note) {
  bool known = slot == S2_NONE || step->node_of[slot] != S2_GROUND;
  for (int i = 0; i < note->of->grounds && !known; i++) {
    known = note->of->ground[i] == slot;
  }
  if (!known) {
    note->of->ground[note->of->grounds++] = slot;
  }
}

void s2_note_interval(const S2Step *step, const S2Island *island, int earlier, bool sets_out) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add_island(step, island, S2_ACT_INTERVAL);
  note->interval.earlier = earlier;
  note->interval.sets_out = sets_out;
  note->of->ground =
      s2_note_take(notes, sizeof(int32_t) * (size_t)(2 * island->touches + 4 * island->joints));
  // Add the ground bodies that touch nodes of the island.
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    note_add_ground(step, touch->body_a, note);
    note_add_ground(step, touch->body_b, note);
  }
  // Add the ground bodies that are joined to nodes.
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    const int32_t body[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
    for (int k = 0; k < 4; k++) {
      note_add_ground(step, body[k], note);
    }
  }
}

void s2_note_interval_end(const S2Step *step, const S2Island *island) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_INTERVAL_END);
    note->end.q1 = note_of_nodes(notes, island, step->q1);
    note->end.v2 = note_of_nodes(notes, island, step->v2);
    note->end.v1 = note_of_nodes(notes, island, step->v1);
    note->end.force = step->laws > 0 ? note_of_nodes(notes, island, step->force) : NULL;
  }
}

void s2_note_set_out(const S2Step *step, const S2Island *island, bool unseen) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_SET_OUT);
    note->set_out.q0 = note_of_nodes(notes, island, step->q0);
    note->set_out.v0 = note_of_nodes(notes, island, step->v0);
    note->set_out.unseen = unseen;
  }
}

void s2_note_arrive(const S2Step *step, const S2Island *island, int32_t met, int point,
                    bool alone) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = s2_note_add_island(step, island, S2_ACT_ARRIVE);
    note->arrive.share = step->share;
    note->arrive.v1 = note_of_nodes(notes, island, step->v1);
    note->arrive.meets = met != S2_NONE;
    note->arrive.others = !alone;
    note->arrive.point = point;
    // Record the touch that ends the interval.
    if (note->arrive.meets) {
      S2Island one = {.touches = 1, .touch = &met};
      note_keep_touches(step, &one, NULL, step->touches, note);
    }
  }
}

// Records the touches island->touch[i] of the list `touches`. `index` contains the indices of this
// list in S2Step.touches.
static void note_keep_these(const S2Step *step, const S2Island *island, const S2Touch *touches,
                            const int32_t *index, S2NoteIsland *of) {
  S2Notes *notes = step->world->notes;
  size_t count = (size_t)island->touches;
  of->island.touches = island->touches;
  of->touch = s2_note_take(notes, sizeof(const void *) * count);
  of->touch_index = s2_note_take(notes, sizeof(int32_t) * count);
  of->choices = s2_note_take(notes, 2 * count);
  memset(of->choices, 0, 2 * count);
  for (int i = 0; i < island->touches; i++) {
    int32_t at = island->touch[i];
    of->touch_index[i] = index[at];
    of->touch[i] = note_keep_touch(step, index[at], &touches[at]);
  }
}

void s2_note_repay(const S2Step *step, const S2Island *island, const S2Repaid *repaid) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = s2_note_add_island(step, island, S2_ACT_REPAY);
  S2NoteIsland *of = note->of;
  note->energy.loss = repaid->energy;
  note->energy.edge = repaid->edge;
  note->energy.flowed = repaid->flowed;
  note->energy.turned = repaid->turned;
  note->energy.before = note_of_nodes(notes, island, step->v2);
  of->tiny = repaid->tiny;
  of->ground = note_copy(notes, repaid->ground, sizeof(int32_t) * (size_t)repaid->grounds);
  of->grounds = repaid->grounds;
  S2Island pressed = *island;
  pressed.touches = repaid->flowed ? island->touches : 0;
  note_keep_these(step, &pressed, repaid->touches, repaid->index, of);
}
