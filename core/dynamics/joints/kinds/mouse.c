// Mouse: a damped spring pulls a point of a body to a target in the world, with the same stiffness
// in all directions.
#include "dynamics/joints/joint.h"

static S2Status mouse_create(const S2World *world, const S2JointDef *def, S2Joint *joint) {
  (void)world;
  if (joint->a == S2_NONE || joint->b != S2_NONE) {
    return s2_error(S2_INVALID, "a mouse pulls one body: give a and leave out b");
  }
  if (!isfinite(def->target.x) || !isfinite(def->target.y)) {
    return s2_error(S2_INVALID, "target: finite numbers expected, got {%g, %g}", def->target.x,
                    def->target.y);
  }
  joint->local_b = def->target;
  return s2_ok();
}

const S2JointKind s2_mouse_kind = {
    .traits = {.name = "mouse",
               .keys = S2_KEYS("body", "anchor", "target", "stiffness", "damping"),
               .span = S2_SPAN_FAINT,
               .dots = S2_DOTS_ENDS},
    .parts = S2_HAS_STIFFNESS | S2_HAS_LENGTH,
    .anchors = S2_ANCHORS_ONE,
    .equation = {s2_measure_x, s2_measure_y},
    .sprung = S2_ALL_ROWS,
    .create = mouse_create,
};
