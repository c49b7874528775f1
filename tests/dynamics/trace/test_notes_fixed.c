// Notes of many steps share data: joints are copied once, and again when one of them has changed.
#include "diff/step/trace.h"
#include "dynamics/trace/notes.h"
#include "worlds.h"

static void steps_share_what_stays(void **state) {
  (void)state;
  S2World *world = world_new(-10, 0.01);
  S2BodyId above = add_box(world, fixed_at(0, 0), 0.1, 0.1), body;
  S2JointId joint;
  for (int i = 1; i <= 3; i++) {
    body = add_box(world, at(i, 0), 0.8, 0.1);
    S2JointDef hinge = joint_def(S2_HINGE, body, above);
    hinge.anchor_a = s2_vec2(i - 0.5, 0);
    must(s2_joint_create(world, &hinge, &joint));
    above = body;
  }
  enum { STEPS = 4 };
  S2Trace *trace[STEPS];
  const S2Fixed *shared = NULL;
  for (int k = 0; k < STEPS; k++) { // bodies swing, impulses and reactions change
    trace[k] = s2_trace_new();
    must(s2_world_step_traced(world, trace[k]));
    assert_true(k == 0 || world->fixed == shared);
    shared = world->fixed;
  }
  assert_true(world->joints.at[0].reaction[2] != 0);
  must(s2_joint_set(world, joint, S2_JOINT_FRICTION, 0.25));
  S2Trace *after = s2_trace_new();
  must(s2_world_step_traced(world, after));
  assert_true(world->fixed != shared);
  s2_trace_free(after);
  for (int k = 0; k < STEPS; k++) {
    s2_trace_free(trace[k]);
  }
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(steps_share_what_stays)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
