#include "dynamics/trace/notes.h"

#include "base/number.h"

#include <stddef.h>
#include <string.h>

static void *keep(S2Notes *notes, const void *from, size_t bytes) {
  void *to = s2_note_take(notes, bytes);
  if (bytes > 0) {
    memcpy(to, from, bytes);
  }
  return to;
}

// `like`: what may be the same already, or NULL.
static void *keep_like(S2Notes *notes, const void *from, size_t bytes, const void *like) {
  return like != NULL && (bytes == 0 || memcmp(like, from, bytes) == 0) ? (void *)like
                                                                        : keep(notes, from, bytes);
}

static double *keep_doubles(S2Notes *notes, const double *from, int count) {
  return keep(notes, from, sizeof(double) * (size_t)count);
}

static S2Note *note_of(const S2Step *step, S2Act act) {
  S2Notes *notes = step->world->notes;
  S2Note *note = s2_note_take(notes, sizeof(S2Note));
  *note = (S2Note){.act = act, .h = step->h, .t = step->t, .holds = step->holds};
  s2_array_append(notes->at)->note = note;
  return note;
}

// ---- Parts of a step ----------------------------------------------------------------------------

void s2_note_part(const S2Step *step) {
  S2World *world = step->world;
  S2Notes *notes = world->notes;
  if (notes == NULL) {
    return;
  }
  if (notes->fixed == NULL) {
    notes->fixed = s2_fixed_of(world);
    notes->expected = notes->fixed->expected;
    notes->slots = world->bodies.count;
    notes->joint_slots = world->joints.count;
  }
  notes->latest.count = 0;
  notes->part = notes->at.count;
  S2Note *note = note_of(step, S2_ACT_PART);
  note->t = world->kept.time;
  note->before = s2_note_take(notes, sizeof(double) * S2_JOINT_ROWS * (size_t)notes->joint_slots);
  note->acted = s2_note_take(notes, sizeof(double) * (size_t)notes->joint_slots);
  bool locks = false;
  for (int i = 0; i < notes->joint_slots; i++) {
    const S2Joint *joint = &world->joints.at[i];
    memcpy(note->before + S2_JOINT_ROWS * i, joint->impulse, sizeof joint->impulse);
    note->acted[i] = joint->reaction_time;
    locks |= joint->type == S2_LOCK;
  }
  if (locks) {
    note->more = s2_note_take(notes, sizeof(double) * S2_NOTE_GOALS * (size_t)notes->joint_slots);
    for (int i = 0; i < notes->joint_slots; i++) {
      double *to = note->more + S2_NOTE_GOALS * i;
      memcpy(to, world->joints.at[i].goal, 3 * sizeof(double));
      memcpy(to + 3, world->joints.at[i].rate, 3 * sizeof(double));
    }
  }
}

void s2_note_joints(const S2Notes *notes, const S2Note *part, S2Joint *joints) {
  if (notes->joint_slots > 0) {
    memcpy(joints, notes->fixed->joint, sizeof(S2Joint) * (size_t)notes->joint_slots);
  }
  for (int i = 0; i < notes->joint_slots; i++) {
    memcpy(joints[i].impulse, part->before + S2_JOINT_ROWS * i, sizeof joints[i].impulse);
    joints[i].reaction_time = part->acted[i];
    if (part->more != NULL) {
      memcpy(joints[i].goal, part->more + S2_NOTE_GOALS * i, sizeof joints[i].goal);
      memcpy(joints[i].rate, part->more + S2_NOTE_GOALS * i + 3, sizeof joints[i].rate);
    }
  }
}

// ---- Acts -------------------------------------------------------------------------------------

static void keep_ahead(const S2Step *step, S2Note *note) {
  if (step->world->kept.def.beta < 1) { // else all are carried by v1
    S2Notes *notes = step->world->notes;
    note->ahead = keep(notes, step->ahead, sizeof(bool) * (size_t)notes->slots);
  }
}

static void keep_drives(const S2Step *step, S2Note *note) {
  const S2World *world = step->world;
  bool any = false;
  for (int i = 0; i < world->drives.count; i++) {
    any |= world->drives.at[i].valid;
  }
  if (any) {
    note->drives =
        keep(world->notes, world->drives.at, sizeof(S2Drive) * (size_t)world->drives.count);
  }
}

static void keep_end(const S2Step *step, S2Note *note) {
  S2Notes *notes = step->world->notes;
  size_t count = 3 * (size_t)notes->slots, impulses = S2_JOINT_ROWS * (size_t)notes->joint_slots;
  if (!step->world->kept.def.nonlinear) {
    note->v1 = keep_like(notes, step->v1, sizeof(double) * count, note->more);
    return;
  }
  note->v1 = s2_note_take(notes, sizeof(double) * (count + impulses));
  memcpy(note->v1, step->v1, sizeof(double) * count);
  memcpy(note->v1 + count, step->joint_impulse, sizeof(double) * impulses);
}

// Has v1 been solved for in this (sub-)step? Else nobody reads it.
static bool solved_since_free(const S2Notes *notes) {
  S2Act act = S2_ACT_RESET;
  for (int i = notes->at.count - 1; i >= 0 && act != S2_ACT_FREE; i--) {
    act = s2_note_at(notes, i)->act;
    if (act == S2_ACT_SOLVE) {
      return true;
    }
  }
  return false;
}

void s2_note_plain(const S2Step *step, S2Act act) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = note_of(step, act);
  int count = 3 * notes->slots;
  switch (act) {
  case S2_ACT_FREE:
    note->before = keep_doubles(notes, step->q0, count);
    note->more = keep_doubles(notes, step->v0, count);
    note->force = keep_doubles(notes, step->force, count);
    keep_drives(step, note);
    break;
  case S2_ACT_RESET:
    if (!solved_since_free(notes)) {
      break;
    } // fall through
  case S2_ACT_V1_IS_V2:
    note->before = keep_doubles(notes, step->v1, count);
    break;
  case S2_ACT_RESET_V2:
    note->before = keep_doubles(notes, step->v2, count);
    break;
  case S2_ACT_Q0_IS_Q1:
    note->before = keep_doubles(notes, step->q1, count);
    break;
  case S2_ACT_INTEGRATE:
    keep_ahead(step, note);
    break;
  case S2_ACT_ON:
  case S2_ACT_COMMIT:
    note->before = keep_doubles(notes, step->q1, count);
    note->more = keep_doubles(notes, step->v2, count);
    keep_end(step, note);
    break;
  default:
    break;
  }
}

static double *of_nodes(S2Notes *notes, const S2Island *island, const double *from) {
  double *to = s2_note_take(notes, sizeof(double) * 3 * (size_t)island->nodes);
  for (int i = 0; i < island->nodes; i++) {
    memcpy(to + 3 * i, from + 3 * island->node[i], 3 * sizeof(double));
  }
  return to;
}

static bool nodes_are(const S2Island *island, const double *a, const double *b) {
  bool same = true;
  for (int i = 0; i < island->nodes && same; i++) {
    int at = 3 * island->node[i];
    same = s2_same_bits(a + at, b + at, 3);
  }
  return same;
}

static bool are_nodes(const S2Island *island, const double *of, const double *all) {
  bool same = of != NULL;
  for (int i = 0; i < island->nodes && same; i++) {
    same = s2_same_bits(of + 3 * i, all + 3 * island->node[i], 3);
  }
  return same;
}

// The last note of an island of the same size, which is mostly the same one; NULL: there is none
// near by.
static const S2Note *last_like(const S2Notes *notes, const S2Island *island, S2Act act) {
  enum { NEAR = 8 };
  int end = notes->at.count > NEAR ? notes->at.count - NEAR : 0;
  for (int i = notes->at.count - 1; i >= end; i--) {
    const S2Note *note = s2_note_at(notes, i);
    if (note->of != NULL && (act == S2_ACT_PART || act == note->act) &&
        note->of->island.nodes == island->nodes && note->of->island.joints == island->joints) {
      return note;
    }
  }
  return NULL;
}

static S2Note *note_island(const S2Step *step, const S2Island *island, S2Act act) {
  S2Notes *notes = step->world->notes;
  const S2Note *like = last_like(notes, island, S2_ACT_PART);
  S2Note *note = note_of(step, act);
  S2NoteIsland *of = note->of = s2_note_take(notes, sizeof(S2NoteIsland));
  *of = (S2NoteIsland){.island = *island};
  of->island.node = keep_like(notes, island->node, sizeof(int32_t) * (size_t)island->nodes,
                              like == NULL ? NULL : like->of->island.node);
  of->island.joint = keep_like(notes, island->joint, sizeof(int32_t) * (size_t)island->joints,
                               like == NULL ? NULL : like->of->island.joint);
  of->island.touch = NULL;
  of->island.touches = 0;
  of->island.motion = NULL;
  return note;
}

void s2_note_island(const S2Step *step, const S2Island *island, S2Act act) {
  if (step->world->notes != NULL) {
    S2Note *note = note_island(step, island, act);
    note->before = of_nodes(step->world->notes, island, step->v2);
  }
}

// Kept of a touch is what comes before its points, then of each that it has its geometry, and its
// impulses only where something backwards reads them: viscosity does, and event stepping.
enum { HEAD_OF_TOUCH = offsetof(S2Touch, points) };

static size_t size_of_point(const S2WorldDef *def, const S2Touch *touch) {
  bool whole = s2_world_way(def) == S2_EVENT || touch->viscosity > 0;
  return whole ? sizeof(S2TouchPoint) : offsetof(S2TouchPoint, normal_impulse);
}

void s2_note_touch(const S2WorldDef *def, const void *kept, S2Touch *touch) {
  const unsigned char *from = kept;
  memcpy(touch, from, HEAD_OF_TOUCH);
  size_t size = size_of_point(def, touch);
  memset(touch->points, 0, sizeof touch->points);
  for (int k = 0; k < touch->count; k++) {
    memcpy(&touch->points[k], from + HEAD_OF_TOUCH + (size_t)k * size, size);
  }
}

static bool is_kept(const S2WorldDef *def, const void *kept, const S2Touch *touch) {
  const unsigned char *x = kept;
  bool same = kept != NULL && memcmp(x, touch, HEAD_OF_TOUCH) == 0;
  size_t size = size_of_point(def, touch);
  for (int k = 0; k < touch->count && same; k++) {
    same = memcmp(x + HEAD_OF_TOUCH + (size_t)k * size, &touch->points[k], size) == 0;
  }
  return same;
}

// Once for as long as it stays the same.
static const void *keep_touch(const S2Step *step, int32_t index, const S2Touch *touch) {
  S2Notes *notes = step->world->notes;
  const S2WorldDef *def = &step->world->kept.def;
  while (notes->latest.count <= index) {
    *s2_array_append(notes->latest) = NULL;
  }
  notes->touches = notes->touches > index ? notes->touches : index + 1;
  if (!is_kept(def, notes->latest.at[index], touch)) {
    size_t size = size_of_point(def, touch);
    unsigned char *to = s2_note_take(notes, HEAD_OF_TOUCH + (size_t)touch->count * size);
    memcpy(to, touch, HEAD_OF_TOUCH);
    for (int k = 0; k < touch->count; k++) {
      memcpy(to + HEAD_OF_TOUCH + (size_t)k * size, &touch->points[k], size);
    }
    notes->latest.at[index] = to;
  }
  return notes->latest.at[index];
}

// The touches that have rows, and their choices (NULL: those of all points).
static void keep_touches(const S2Step *step, const S2Island *island, const S2Choice *choices,
                         const S2Touch *touches, S2Note *note) {
  S2Notes *notes = step->world->notes;
  S2NoteIsland *of = note->of;
  int count = 0, used = 0;
  for (int i = 0; i < island->touches; i++) {
    int32_t index = island->touch[i];
    bool first = choices != NULL && choices[2 * index].use;
    bool second = choices != NULL && choices[2 * index + 1].use;
    count += choices == NULL || first || second;
    used += first + second;
  }
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
      of->touch[n] = keep_touch(step, index, &touches[index]);
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

static void keep_joints(const S2Step *step, const S2Island *island, S2Note *note) {
  S2Notes *notes = step->world->notes;
  bool pushed = false, stiff = false, changed = false;
  const double *began = s2_note_at(notes, notes->part)->before;
  for (int i = 0; i < island->joints; i++) {
    int32_t slot = island->joint[i];
    const double *impulse = step->joint_impulse + S2_JOINT_ROWS * slot;
    pushed |= step->pushed[2 * slot] != 0 || step->pushed[2 * slot + 1] != 0;
    stiff |= step->stiff[slot];
    changed |= !s2_same_bits(impulse, began + S2_JOINT_ROWS * slot, S2_JOINT_ROWS);
  }
  S2NoteIsland *of = note->of;
  size_t count = (size_t)island->joints;
  if (changed && !s2_solve_traits(note->kind).displacements) {
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

void s2_note_solve(const S2Step *step, const S2Island *island, const S2Choice *choices,
                   S2SolveKind kind, const S2Assembly *assembly, const double *v,
                   const S2Solution *solution) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = note_island(step, island, S2_ACT_SOLVE);
  note->kind = kind;
  keep_touches(step, island, choices, step->touches, note);
  keep_joints(step, island, note);
  note->into_v1 = v == step->v1;
  note->rows = assembly->problem.rows;
  note->before = nodes_are(island, v, step->free_v) ? NULL : of_nodes(notes, island, v);
  note->of->lambda = keep_doubles(notes, solution->lambda, note->rows);
  note->more = keep_doubles(notes, solution->v, 3 * assembly->problem.nodes);
}

void s2_note_linearise(const S2Step *step, int32_t touch) {
  if (step->world->notes == NULL) {
    return;
  }
  int32_t index[1] = {touch};
  S2Island one = {.touches = 1, .touch = index};
  S2Note *note = note_island(step, &one, S2_ACT_LINEARISE);
  keep_touches(step, &one, NULL, step->touches, note);
  keep_ahead(step, note);
  step->world->notes->linearised = true;
}

void s2_note_mend(const S2Step *step, const S2Island *island, S2Mend mend, const S2Choice *choices,
                  double stiffness, double part, const S2Assembly *assembly,
                  const S2Solution *solution) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = note_island(step, island, S2_ACT_MEND);
  keep_touches(step, island, choices, step->touches, note);
  if (mend == S2_MEND_SOLVED) {
    S2NoteIsland *of = note->of;
    of->solved = s2_note_take(notes, sizeof(const void *) * (size_t)of->island.touches);
    for (int i = 0; i < of->island.touches; i++) {
      of->solved[i] =
          keep_touch(step, of->touch_index[i], &step->touches_solved[of->touch_index[i]]);
    }
  }
  note->kind = S2_SOLVE_PROJECTION;
  keep_joints(step, island, note);
  note->mend = mend;
  note->of->stiffness = stiffness;
  note->part = part;
  note->rows = assembly->problem.rows;
  note->before = of_nodes(notes, island, step->q1);
  note->of->lambda = keep_doubles(notes, solution->lambda, note->rows);
  note->more = keep_doubles(notes, solution->v, 3 * assembly->problem.nodes);
}

void s2_note_shake(const S2Step *step, const S2Island *island, const double *start,
                   const double *dq, int rows, const double *lambda, bool of_motion) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_SHAKE);
    note->kind = S2_SOLVE_PROJECTION;
    keep_joints(step, island, note);
    note->part = 1;
    note->of_motion = of_motion;
    note->rows = rows;
    note->before = keep_doubles(notes, start, 3 * island->nodes);
    note->of->lambda = keep_doubles(notes, lambda, rows);
    note->more = keep_doubles(notes, dq, 3 * island->nodes);
  }
}

void s2_note_spin(const S2Step *step, const S2Island *island, bool from_v2) {
  if (step->world->notes != NULL) {
    note_island(step, island, S2_ACT_SPIN)->from_v2 = from_v2;
  }
}

void s2_note_set_spin(const S2Step *step, const S2Island *island, S2Act act, double spin,
                      const double *before) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, act);
    note->of->spin = spin;
    note->part = 1;
    note->before = keep_doubles(notes, before, 3 * island->nodes);
  }
}

void s2_note_cap(const S2Step *step, const S2Island *island, double excess, const double *before) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_CAP);
    note->part = excess;
    note->before = keep_doubles(notes, before, 3 * island->nodes);
  }
}

void s2_note_balance(const S2Step *step, const S2Island *island) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_BALANCE);
    note->before = of_nodes(notes, island, step->v1);
  }
}

void s2_note_go_back(const S2Step *step, const S2Island *island, int since, const double *q) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_GO_BACK);
    note->since = since;
    note->before = keep_doubles(notes, q, 3 * island->nodes);
  }
}

void s2_note_feedback(const S2Step *step, const S2Island *island, double part,
                      const S2Shaken *shaken, const int32_t *ground, int grounds) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_FEEDBACK);
    const S2Note *solve = last_like(notes, island, S2_ACT_SOLVE);
    const S2Note *shake = last_like(notes, island, S2_ACT_SHAKE);
    bool solved = solve != NULL && are_nodes(island, solve->more, step->v2);
    bool alone = shake != NULL && shake->rows == shaken->count;
    note->part = part;
    note->before = solved ? solve->more : of_nodes(notes, island, step->v2);
    note->more = keep_like(notes, shaken->dq, sizeof(double) * 3 * (size_t)island->nodes,
                           shake == NULL ? NULL : shake->more);
    note->of->lambda = keep_like(notes, shaken->lambda, sizeof(double) * (size_t)shaken->count,
                                 alone ? shake->of->lambda : NULL);
    note->of->shaken = s2_note_take(notes, sizeof(S2ShakenRow) * (size_t)shaken->count);
    for (int r = 0; r < shaken->count; r++) {
      const S2JointPart *of = &shaken->part[r];
      S2ShakenRow *row = &note->of->shaken[r];
      *row = (S2ShakenRow){.joint = of->joint, .row = of->row};
      memcpy(row->push, of->push, sizeof row->push);
    }
    note->rows = shaken->count;
    note->of->ground = keep(notes, ground, sizeof(int32_t) * (size_t)grounds);
    note->of->grounds = grounds;
  }
}

void s2_note_blow(const S2Step *step, const S2Island *island, const S2Choice *choices, S2Act act) {
  if (step->world->notes != NULL) {
    S2Note *note = note_island(step, island, act);
    keep_touches(step, island, choices, step->touches, note);
    note->before = act == S2_ACT_REBOUND ? of_nodes(step->world->notes, island, step->v2) : NULL;
  }
}

void s2_note_keep(const S2Step *step, const S2Island *island, double part, const double *pressed,
                  const double *struck, const S2JointImpulses *held) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    size_t count = S2_TOUCH_IMPULSES * (size_t)island->touches;
    S2Note *note = note_island(step, island, S2_ACT_KEEP);
    keep_touches(step, island, NULL, step->touches, note);
    note->part = part;
    note->before = of_nodes(notes, island, step->v2);
    note->of->lambda = s2_note_take(notes, sizeof(double) * 2 * count);
    memcpy(note->of->lambda, pressed, sizeof(double) * count);
    memcpy(note->of->lambda + count, struck, sizeof(double) * count);
    note->of->impulse =
        s2_note_take(notes, sizeof(double) * S2_JOINT_ROWS * (size_t)island->joints);
    note->more = s2_note_take(notes, sizeof(double) * 3 * (size_t)island->joints);
    for (int i = 0; i < S2_JOINT_ROWS * island->joints; i++) {
      int32_t slot = island->joint[i / S2_JOINT_ROWS];
      int at = S2_JOINT_ROWS * slot + i % S2_JOINT_ROWS;
      note->of->impulse[i] = step->joint_impulse[at] - held->row[i];
    }
    for (int i = 0; i < 3 * island->joints; i++) {
      int at = 3 * island->joint[i / 3] + i % 3;
      note->more[i] = step->joint_reaction[at] - held->reaction[i];
    }
  }
}

void s2_note_blend(const S2Step *step, const S2Island *island, const S2Choice *choices, double e,
                   const double *reflected) {
  if (step->world->notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_BLEND);
    note->part = e;
    keep_touches(step, island, choices, step->touches, note);
    note->more = keep_doubles(step->world->notes, reflected, 3 * island->nodes);
    note->before = of_nodes(step->world->notes, island, step->v2);
  }
}

void s2_note_midpoint(const S2Step *step, const S2Island *island, bool restarted, const double *v0,
                      const double *linear) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_MIDPOINT);
    keep_joints(step, island, note);
    for (int i = 0; i < island->joints; i++) { // its chords
      if (step->world->joints.at[island->joint[i]].type == S2_CONSTRAINT) {
        notes->reason = "a constraint in a nonlinear step";
      }
    }
    note->restarted = restarted;
    note->before = keep_doubles(notes, linear, 3 * island->nodes);
    note->more = keep_doubles(notes, v0, 3 * island->nodes);
  }
}

// ---- Event stepping ---------------------------------------------------------------------------

static void add_ground(const S2Step *step, int32_t slot, S2Note *note) {
  bool known = slot == S2_NONE || step->node_of[slot] != S2_GROUND;
  for (int i = 0; i < note->of->grounds && !known; i++) {
    known = note->of->ground[i] == slot;
  }
  if (!known) {
    note->of->ground[note->of->grounds++] = slot;
  }
}

void s2_note_piece(const S2Step *step, const S2Island *island, int before) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_PIECE);
    note->rows = before;
    note->of->ground =
        s2_note_take(notes, sizeof(int32_t) * (size_t)(2 * island->touches + 4 * island->joints));
    for (int i = 0; i < island->touches; i++) {
      const S2Touch *touch = &step->touches[island->touch[i]];
      add_ground(step, touch->body_a, note);
      add_ground(step, touch->body_b, note);
    }
    for (int i = 0; i < island->joints; i++) {
      const S2Joint *joint = &step->world->joints.at[island->joint[i]];
      const int32_t body[4] = {joint->a, joint->b, joint->more[0], joint->more[1]};
      for (int k = 0; k < 4; k++) {
        add_ground(step, body[k], note);
      }
    }
  }
}

void s2_note_of_piece(const S2Step *step, const S2Island *island, S2Act act) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = note_island(step, island, act);
  switch (act) {
  case S2_ACT_STRUCK:
    note->before = of_nodes(notes, island, step->v0);
    break;
  case S2_ACT_PIECE_END:
    note->before = of_nodes(notes, island, step->q1);
    note->more = of_nodes(notes, island, step->v2);
    note->v1 = of_nodes(notes, island, step->v1);
    break;
  default:
    break;
  }
}

void s2_note_set_out(const S2Step *step, const S2Island *island, bool unseen) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_SET_OUT);
    note->before = of_nodes(notes, island, step->q0);
    note->more = of_nodes(notes, island, step->v0);
    note->unseen = unseen;
  }
}

void s2_note_arrive(const S2Step *step, const S2Island *island, int32_t met, int point,
                    bool alone) {
  S2Notes *notes = step->world->notes;
  if (notes != NULL) {
    S2Note *note = note_island(step, island, S2_ACT_ARRIVE);
    note->part = step->share;
    note->v1 = of_nodes(notes, island, step->v1);
    note->meets = met != S2_NONE;
    note->edge = !alone;
    note->rows = point;
    if (note->meets) {
      S2Island one = {.touches = 1, .touch = &met};
      keep_touches(step, &one, NULL, step->touches, note);
    }
  }
}

// The touches that island->touch counts, of `touches`; `index`: what they are in S2Step.touches.
static void keep_these(const S2Step *step, const S2Island *island, const S2Touch *touches,
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
    of->touch[i] = keep_touch(step, index[at], &touches[at]);
  }
}

void s2_note_slow(const S2Step *step, const S2Island *island, double energy, bool fed,
                  const int32_t *ground, int grounds) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = note_island(step, island, S2_ACT_SLOW);
  S2NoteIsland *of = note->of;
  keep_touches(step, island, NULL, step->touches_solved, note);
  note->part = energy;
  note->fed = fed;
  note->before = of_nodes(notes, island, step->v2);
  of->ground = keep(notes, ground, sizeof(int32_t) * (size_t)grounds);
  of->grounds = grounds;
  of->lambda = s2_note_take(notes, sizeof(double) * S2_TOUCH_IMPULSES * (size_t)island->touches);
  for (int i = 0; i < S2_TOUCH_IMPULSES * island->touches; i++) {
    int k = i % S2_TOUCH_IMPULSES;
    const S2Touch *touch = &step->touches_solved[island->touch[i / S2_TOUCH_IMPULSES]];
    const S2TouchPoint *point = &touch->points[k / 2];
    double impulse = k % 2 == 0 ? point->normal_impulse : point->tangent_impulse;
    of->lambda[i] = k / 2 < touch->count ? impulse : 0;
  }
}

void s2_note_short(const S2Step *step, const S2Island *island, double part) {
  if (step->world->notes != NULL) {
    note_island(step, island, S2_ACT_SHORT)->part = part;
  }
}

void s2_note_repay(const S2Step *step, const S2Island *island, const S2Repaid *repaid) {
  S2Notes *notes = step->world->notes;
  if (notes == NULL) {
    return;
  }
  S2Note *note = note_island(step, island, S2_ACT_REPAY);
  S2NoteIsland *of = note->of;
  note->part = repaid->energy;
  note->edge = repaid->edge;
  note->flowed = repaid->flowed;
  note->turned = repaid->turned;
  note->before = of_nodes(notes, island, step->v2);
  of->tiny = repaid->tiny;
  of->ground = keep(notes, repaid->ground, sizeof(int32_t) * (size_t)repaid->grounds);
  of->grounds = repaid->grounds;
  S2Island pressed = *island;
  pressed.touches = repaid->flowed ? island->touches : 0;
  keep_these(step, &pressed, repaid->touches, repaid->index, of);
}
