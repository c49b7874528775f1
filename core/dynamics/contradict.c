// Joints that contradict each other: which ones, for warnings.
#include "dynamics/step.h"

#include <stdio.h>
#include <string.h>

enum { NAMED = 3 };

typedef struct Culprit {
  int32_t joint; // slot
  double off;
} Culprit;

// The worst first; returns how many there are now.
static int add(Culprit *list, int count, int32_t joint, double off) {
  int i = 0;
  while (i < count && list[i].joint != joint) {
    i += 1;
  }
  if (i < count) {
    list[i].off = fmax(list[i].off, off);
  } else {
    i = count < NAMED ? count : NAMED - 1;
    if (count >= NAMED && list[i].off >= off) {
      return count;
    }
    list[i] = (Culprit){joint, off};
    count = i + 1;
  }
  for (; i > 0 && list[i].off > list[i - 1].off; i--) {
    Culprit swap = list[i];
    list[i] = list[i - 1];
    list[i - 1] = swap;
  }
  return count;
}

static void name_them(const S2World *world, const Culprit *list, int count, const char *unit,
                      S2Contradiction *text) {
  size_t at = 0;
  text->at[0] = 0;
  for (int i = 0; i < count && at < sizeof text->at; i++) {
    char label[S2_NAME_SIZE + 32];
    s2_joint_label(world, list[i].joint, label);
    int wrote = snprintf(text->at + at, sizeof text->at - at, "%s%s by %.3g %s", i > 0 ? ", " : "",
                         label, list[i].off, unit);
    at += wrote < 0 ? 0 : (size_t)wrote;
  }
}

S2Contradiction s2_step_contradiction(const S2Step *step, const S2Island *island,
                                      const S2Assembly *assembly, const S2Solution *solution) {
  Culprit list[NAMED];
  int count = 0;
  const S2Problem *problem = &assembly->problem;
  double enough = step->world->kept.def.tolerance * problem->velocity_scale;
  for (int r = 0; r < assembly->parts; r++) {
    const S2Row *row = &problem->row[r];
    double u = row->bias + row->compliance * solution->lambda[r];
    for (int c = 0; c < 3; c++) {
      u += row->a == S2_GROUND ? 0 : row->ja[c] * solution->v[3 * row->a + c];
      u += row->b == S2_GROUND ? 0 : row->jb[c] * solution->v[3 * row->b + c];
    }
    bool angular = row->ja[1] == 0 && row->ja[2] == 0 && row->jb[1] == 0 && row->jb[2] == 0;
    double off = (row->lo < 0 ? fabs(u) : fmax(-u, 0)) * (angular ? island->length : 1);
    int32_t joint = assembly->part[r].joint; // S2_NONE: viscosity of a contact
    // Motors with a bound and friction may give way.
    if (joint != S2_NONE && off > enough && row->hi == INFINITY) {
      count = add(list, count, joint, off);
    }
  }
  S2Contradiction text;
  name_them(step->world, list, count, "m/s", &text);
  return text;
}

void s2_step_warn_of_misfits(const S2Step *step, const S2Island *island) {
  Culprit list[NAMED];
  int count = 0;
  for (int i = 0; i < island->joints; i++) {
    const S2Joint *joint = &step->world->joints.at[island->joint[i]];
    S2JointAt at = {step->world, joint, step->q1, step->t - step->world->kept.time + step->h,
                    NULL,        NULL};
    double off = s2_joint_violation(&at, island->length);
    if (off > S2_MISFIT * island->length) {
      count = add(list, count, island->joint[i], off);
    }
  }
  if (count > 0) {
    S2Contradiction text;
    name_them(step->world, list, count, "m", &text);
    s2_world_warn(step->world,
                  "step %llu (t = %.6g s): joints do not fit together: off are %s (a loop that "
                  "cannot close? bodies that are held too far apart?)",
                  (unsigned long long)step->world->kept.steps + 1, step->t, text.at);
  }
}
