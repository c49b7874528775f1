// Finds contacts and joints that contradict each other, to name them in warnings.
#include "dynamics/project/warn.h"
#include "mcp/problem/conflict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 3 };

// A row belongs to a conflict if its multiplier in the proof, times the size of the row, is at
// least this fraction of the largest one. Smaller multipliers are rounding errors of the search.
static const double TAKES_PART = 1e-4;

// Parts of a joint that may take part in a conflict.
enum { PART_OTHER = 1, PART_MOTOR = 2, PART_LIMIT = 4 };

typedef struct Culprit {
  int32_t touch, joint; // index of the touch and slot of the joint; one of them is S2_NONE
  double off, rank;
  int parts; // PART_...; 0: unknown, or a contact
} Culprit;

typedef struct Culprits { // sorted by importance, the most important first
  Culprit at[NAMED];
  int count;
} Culprits;

static void contradict_add(Culprits *list, int32_t touch, int32_t joint, double off, double rank,
                           int parts) {
  Culprit *at = list->at;
  int i = 0;
  while (i < list->count && (at[i].joint != joint || at[i].touch != touch)) {
    i += 1;
  }
  if (i < list->count) {
    at[i].off = fmax(at[i].off, off);
    at[i].rank = fmax(at[i].rank, rank);
    at[i].parts |= parts;
  } else {
    i = list->count < NAMED ? list->count : NAMED - 1;
    if (list->count >= NAMED && at[i].rank >= rank) {
      return;
    }
    at[i] = (Culprit){touch, joint, off, rank, parts};
    list->count = i + 1;
  }
  for (; i > 0 && at[i].rank > at[i - 1].rank; i--) {
    Culprit swap = at[i];
    at[i] = at[i - 1];
    at[i - 1] = swap;
  }
}

// A text buffer that ignores writes when it is full.
typedef struct Writer {
  char *at;
  size_t size, used;
} Writer;

__attribute__((format(printf, 2, 3))) static void write_on(Writer *to, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int wrote =
      to->used < to->size ? vsnprintf(to->at + to->used, to->size - to->used, format, args) : 0;
  va_end(args);
  to->used += wrote < 0 ? 0 : (size_t)wrote;
}

static void write_body(Writer *to, const S2World *world, int32_t slot) {
  static const char *const kinds[] = {
      [S2_DYNAMIC] = "", [S2_STATIC] = " (static)", [S2_KINEMATIC] = " (kinematic)"};
  char label[S2_NAME_SIZE + 8];
  s2_body_label(world, slot, label);
  write_on(to, "%s%s", label, slot == S2_NONE ? "" : kinds[world->bodies.at[slot].type]);
}

static void write_culprit(Writer *to, const S2Step *step, const Culprit *culprit) {
  if (culprit->joint != S2_NONE) {
    char label[S2_NAME_SIZE + 32];
    s2_joint_label(step->world, culprit->joint, label);
    // Writes, for example, "the motor and the limit of hinge #1". Names only the joint if its
    // equations take part.
    bool motor = (culprit->parts & PART_MOTOR) != 0, limit = (culprit->parts & PART_LIMIT) != 0;
    bool named = (motor || limit) && (culprit->parts & PART_OTHER) == 0;
    write_on(to, "%s%s%s%s%s", named && motor ? "the motor " : "",
             named && motor && limit ? "and " : "", named && limit ? "the limit " : "",
             named ? "of " : "", label);
  } else {
    const S2Touch *touch = &step->touches[culprit->touch];
    write_body(to, step->world, touch->body_a);
    write_on(to, " on ");
    write_body(to, step->world, touch->body_b);
  }
}

static void write_list(Writer *to, const S2Step *step, const Culprits *list, const char *unit) {
  for (int i = 0; i < list->count; i++) {
    write_on(to, "%s", i > 0 ? ", " : "");
    write_culprit(to, step, &list->at[i]);
    if (unit != NULL) {
      write_on(to, " by %.3g %s", list->at[i].off, unit);
    }
  }
}

static bool contradict_angular(const S2Row *row) {
  return row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
}

// Finds the touch of each row after the joint rows (from assembly->parts on). The touch of a
// tangent row is S2_NONE.
static void touches_of_rows(const S2Step *step, const S2Island *island, const S2Choice *choices,
                            S2SolveKind kind, int32_t *touch_of) {
  int n = 0;
  for (int i = 0; i < island->touches; i++) {
    const S2Touch *touch = &step->touches[island->touch[i]];
    for (int k = 0; k < touch->count; k++) {
      bool used = choices[2 * island->touch[i] + k].use && s2_solve_presses(kind, touch);
      if (used && s2_solve_traits(kind).normals) {
        touch_of[n++] = island->touch[i];
      }
      if (used && s2_solve_is_rough(kind, touch)) {
        touch_of[n++] = S2_NONE;
      }
    }
  }
}

// Names a culprit that moves its body with an unbounded force, such as a kinematic body, a lock or
// a motor. `sure`: true if the culprit is part of a proof.
static void write_remedy(Writer *to, const S2Step *step, const Culprit *list, int count,
                         bool sure) {
  const S2World *world = step->world;
  for (int i = 0; i < count; i++) {
    const Culprit *culprit = &list[i];
    const S2Joint *joint = culprit->joint == S2_NONE ? NULL : &world->joints.at[culprit->joint];
    const S2Touch *touch = joint == NULL ? &step->touches[culprit->touch] : NULL;
    const int32_t slot[2] = {joint == NULL ? touch->body_a : joint->a,
                             joint == NULL ? touch->body_b : joint->b};
    char label[S2_NAME_SIZE + 32];
    // The culprit may be a kinematic body on either side.
    for (int k = 0; k < 2; k++) {
      const S2Body *body = slot[k] == S2_NONE ? NULL : &world->bodies.at[slot[k]];
      if (body != NULL && body->type == S2_KINEMATIC && !s2_body_yields(body)) {
        s2_body_label(world, slot[k], label);
        write_on(to, "%s with a max_force %s would yield",
                 sure ? ":" : "; if it crushes them:", label);
        return;
      }
    }
    // The culprit may be a joint without a bound on its force.
    if (joint != NULL &&
        (joint->type == S2_LOCK || (joint->has_motor && joint->motor_max == INFINITY))) {
      s2_joint_label(world, culprit->joint, label);
      const char *bound = joint->type == S2_SLIDER ? "max_force"
                          : joint->type == S2_HINGE || joint->type == S2_WHEEL
                              ? "max_torque"
                              : "max_force or max_torque";
      write_on(to, "%s with a %s %s would yield", sure ? ":" : "; if it crushes them:", bound,
               label);
      return;
    }
  }
}

// Returns true if a row acts on the ground. Such rows come first, because they show what compresses
// a stack.
static bool contradict_grounded(const S2Row *row) {
  return row->a == S2_GROUND || row->b == S2_GROUND;
}

// Returns true if any row requires motion. If none does, zero velocities satisfy all rows, so there
// is no proof.
static bool asks_for_motion(const S2Problem *problem) {
  bool asks = false;
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    bool hard = row->coupled_to < 0 && row->hi == INFINITY && !(row->compliance > 0);
    asks |= hard && (row->lo < 0 ? row->bias != 0 : row->bias < 0);
  }
  return asks;
}

static int contradict_part(int32_t row) {
  return row == S2_JOINT_MOTOR                      ? PART_MOTOR
         : row == S2_JOINT_LO || row == S2_JOINT_HI ? PART_LIMIT
                                                    : PART_OTHER;
}

// Finds the culprits from a proof that no velocities satisfy all rows.
static Culprits contradict_proved(const S2Step *step, const S2Assembly *assembly,
                                  const int32_t *touch_of) {
  Culprits list = {.count = 0};
  const S2Problem *problem = &assembly->problem;
  const S2WorldDef *def = &step->world->kept.def;
  S2SolverOptions options = {.tolerance = def->tolerance, .max_iterations = def->max_iterations};
  double *proof = S2_TAKE_ZEROED(step->arena, double, problem->rows), largest = 0;
  // The proof is a combination of rows that yields 0 v > 0 (Farkas' lemma). First try an exact
  // method, then an interior-point method.
  if (!asks_for_motion(problem) ||
      (!s2_mcp_conflict(problem, proof, step->arena) &&
       !s2_mcp_conflict_quick(problem, &options, proof, step->arena))) {
    return list;
  }
  // Find the largest share in the first pass. Take the rows with a significant share in the second.
  for (int pass = 0; pass < 2; pass++) {
    for (int r = 0; r < problem->rows; r++) {
      const S2Row *row = &problem->row[r];
      bool contact = r >= assembly->parts;
      double part = fabs(proof[r]) * (contradict_angular(row) ? 1 / problem->length : 1);
      largest = pass == 0 ? fmax(largest, part) : largest;
      if (pass == 1 && part > TAKES_PART * largest) {
        int32_t touch = contact ? touch_of[r - assembly->parts] : S2_NONE;
        int what = contact ? 0 : contradict_part(assembly->part[r].row);
        // Motors come first, because a motor with a bounded force would yield.
        double rank = part + (contradict_grounded(row) ? largest : 0) +
                      (what == PART_MOTOR ? 2 * largest : 0);
        contradict_add(&list, touch, contact ? S2_NONE : assembly->part[r].joint, part, rank, what);
      }
    }
  }
  return list;
}

// Finds the culprits from the errors of rows that must hold.
static Culprits contradict_missed(const S2Step *step, const S2Island *island,
                                  const S2Assembly *assembly, const S2Solution *solution,
                                  const int32_t *touch_of) {
  Culprits list = {.count = 0};
  const S2Problem *problem = &assembly->problem;
  double enough = step->world->kept.def.tolerance * problem->velocity_scale;
  for (int r = 0; r < problem->rows; r++) {
    const S2Row *row = &problem->row[r];
    double u = row->bias + row->compliance * solution->lambda[r];
    for (int c = 0; c < 3; c++) {
      u += row->a == S2_GROUND ? 0 : row->ja[c] * solution->v[3 * row->a + c];
      u += row->b == S2_GROUND ? 0 : row->jb[c] * solution->v[3 * row->b + c];
    }
    double off =
        (row->lo < 0 ? fabs(u) : fmax(-u, 0)) * (contradict_angular(row) ? island->length : 1);
    int32_t joint = r < assembly->parts ? assembly->part[r].joint : S2_NONE; // S2_NONE: viscosity
    int32_t touch = r < assembly->parts ? S2_NONE : touch_of[r - assembly->parts];
    // Ignore bounded motors and friction, because they may yield.
    if ((joint != S2_NONE || touch != S2_NONE) && off > enough && row->hi == INFINITY) {
      contradict_add(&list, touch, joint, off,
                     touch != S2_NONE && contradict_grounded(row) ? 2 * off : off, 0);
    }
  }
  return list;
}

static bool has_contact(const Culprits *list) {
  bool has = false;
  for (int i = 0; i < list->count; i++) {
    has |= list->at[i].touch != S2_NONE;
  }
  return has;
}

// Names a possible culprit if there is no proof.
static void write_doubt(Writer *to, const S2Step *step, const S2Island *island) {
  int count = island->touches + island->joints;
  Culprit *all = S2_TAKE_ZEROED(step->arena, Culprit, count);
  for (int i = 0; i < count; i++) {
    bool joint = i >= island->touches;
    all[i].touch = joint ? S2_NONE : island->touch[i];
    all[i].joint = joint ? island->joint[i - island->touches] : S2_NONE;
  }
  write_remedy(to, step, all, count, false);
}

void s2_step_warn_of_unsolved(const S2Step *step, const S2Island *island, const S2Choice *choices,
                              S2SolveKind kind, const S2Assembly *assembly,
                              const S2Solution *solution) {
  S2World *world = step->world;
  if (world->warning[0] != 0) {
    return; // warn only once per step, because the search for the cause takes time
  }
  S2ArenaMark mark = s2_arena_mark(step->arena);
  int contact_rows = assembly->problem.rows - assembly->parts;
  int32_t *touch_of = S2_TAKE(step->arena, int32_t, contact_rows + 1);
  touches_of_rows(step, island, choices, kind, touch_of);
  Culprits cause = contradict_proved(step, assembly, touch_of);
  char text[S2_MESSAGE_SIZE] = "";
  Writer to = {text, sizeof text, 0};
  if (cause.count > 0) {
    write_on(&to, "contradiction: no velocities meet ");
    write_list(&to, step, &cause, NULL);
    write_on(&to, " at once (residual %.1e)", solution->residual.scaled);
    write_remedy(&to, step, cause.at, cause.count, true);
  } else {
    write_on(&to,
             "an island of %d bod%s was solved only to a scaled residual of %.1e (tolerance %.1e)",
             island->nodes, island->nodes == 1 ? "y" : "ies", solution->residual.scaled,
             world->kept.def.tolerance);
    if (asks_for_motion(&assembly->problem)) {
      write_doubt(&to, step, island);
    }
  }
  if (!has_contact(&cause)) {
    Culprits off = contradict_missed(step, island, assembly, solution, touch_of);
    write_on(&to, "%s", off.count == 0 ? "" : has_contact(&off) ? "; off: " : "; joints off: ");
    write_list(&to, step, &off, "m/s");
  }
  s2_world_warn(world, "step %llu (t = %.6g s): %s", (unsigned long long)world->kept.steps + 1,
                step->t, text);
  s2_arena_rewind(step->arena, mark);
}

void s2_step_warn_of_misfits(const S2Step *step, const S2Island *island) {
  Culprits list = {.count = 0};
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, step->q1, step->t - step->world->kept.time + step->h, NULL};
    double off = s2_joint_violation(&at, island->length);
    if (off > S2_MISFIT * island->length) {
      contradict_add(&list, S2_NONE, island->joint[i], off, off, 0);
    }
  }
  if (list.count > 0) {
    char text[S2_MESSAGE_SIZE] = "";
    Writer to = {text, sizeof text, 0};
    write_list(&to, step, &list, "m");
    s2_world_warn(step->world,
                  "step %llu (t = %.6g s): joints contradict each other; errors: %s (a loop that "
                  "cannot close? bodies that are held too far apart?)",
                  (unsigned long long)step->world->kept.steps + 1, step->t, text);
  }
}
