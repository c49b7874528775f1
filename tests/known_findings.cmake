# Audits judge every step of the tests, scenes and scripts (docs/testing.md). A finding fails the test, unless it is
# listed here by kind, with the reason. `all` switches audits off. Remove a line as soon as a test no longer needs it.

# s2_known_findings("reason" "kinds" name...): kinds as in world:stats()
function(s2_known_findings reason kinds)
  foreach(name IN LISTS ARGN)
    set_property(GLOBAL APPEND_STRING PROPERTY "S2_KNOWN_${name}" " ${kinds}")
  endforeach()
endfunction()

s2_known_findings("they compare a step with differences or search plans: the same scene thousands of times" all
  test_gradients test_event_vjp test_event_joint_vjp test_joint_vjp lua_random_gradients lua_trajectory lua_kinetix
  scripts/batch/evolution.lua scripts/control/methods.lua scripts/control/swing_up.lua scripts/control/walker.lua
  scripts/control/hopper.lua scripts/control/wall.lua)
s2_known_findings("bodies begin in places and with speeds that no step explains, or memory fails on purpose" all
  test_memory lua_fuzz_callbacks)
s2_known_findings("heaps that are poured for minutes; the test counts unsolved steps" all
  lua_pour lua_convex lua_tasks)
s2_known_findings("programs, which the test is about, step no world with audits" all test_model)

# Steps by projection are first order. They make the findings of the next three lists in sound scenes (docs/audits.md, "Random
# scenes"). Tests take such steps by a setting, in large islands, or in islands that the two stages do not take. Which of these
# holds was not looked up for each test. tests/lua/world/test_audits.lua asserts the findings by name.
# A test in C ends at its first finding, so one run does not show all of its kinds.
s2_known_findings("any of the three kinds below, in steps by projection" "drifts slips energies"
  test_auto test_contradictions test_contradictions_in_auto test_gear test_ground test_implicit test_island_vjp
  test_joint_motor test_joint_motor_in_auto test_joint_property test_joint_property_in_auto test_joint_types
  test_joint_types_in_auto test_kept test_momentum test_motion test_motion_in_auto test_pendulum test_property
  test_record test_reflections test_rest test_stabilise test_stabilise_in_auto test_static test_step
  test_step_joints test_step_vjp test_substeps test_threads test_together test_world test_world_in_auto test_yield
  test_yield_in_auto)
s2_known_findings("velocities at the end of a step by projection hold what the joint does not allow, or bodies begin off their joints" drifts
  lua_boosts lua_contact_smooth lua_fuzz_api lua_impulse_gradient lua_jacobian_random lua_joint lua_joint_error lua_joint_fuzz
  lua_limit_rebound lua_motion lua_ratio_gradient lua_ratios lua_rattle_contact_gradient lua_rattle_gradient
  lua_script_gradient lua_servo lua_solver lua_world lua_world_gradient lua_zero_gradient
  scripts/compliant/geometric_stiffness.lua scripts/physics_paper/chain.lua)
s2_known_findings("a step by projection lifts bodies and repays it, or a turning force is of first order" energies
  lua_budget lua_constraint lua_contact_smooth lua_cuts lua_declared lua_event_energy lua_impulse_gradient
  lua_joint_fuzz lua_joint_keys lua_passage lua_ratio_gradient lua_ratios lua_rattle_contact_gradient
  lua_rattle_gradient lua_solver lua_turning_force lua_world lua_world_gradient lua_world_gradient_random
  lua_zero_gradient scenes/contacts/disc_pile.lua scenes/contacts/hopper.lua scripts/compliant/energy_map.lua scripts/contact/models.lua
  scripts/contact/solvers.lua scripts/control/lcs.lua scripts/control/learned_cart_pole.lua
  scripts/control/pid_tuning.lua)
s2_known_findings("a step by projection moves a body on a moving body by the mean of two velocities" slips
  lua_budget lua_kept lua_lcs lua_solver scenes/contacts/disc_pile.lua scenes/contacts/galton.lua
  scenes/tasks/peg_insertion.lua scenes/tasks/pusher.lua scripts/contact/bench_energy.lua scripts/contact/models.lua
  scripts/contact/solvers.lua)

s2_known_findings("the scene crushes a body: no step without an overlap exists" overlaps
  lua_yield test_impact test_impact_in_auto test_yield test_yield_in_auto)
# Of five such random scenes under `speculative` three are sound where rows are made anew from 1e-4 of the way to a surface on, in place of
# 1e-2 (relinearise_touch), but three others are not then. The other two, and these tests, are not traced.
s2_known_findings("rows of the start of a step miss what turning does within it" overlaps
  lua_auto lua_lcs lua_solver lua_impulse_gradient lua_joint_fuzz lua_world_gradient scripts/compliant/programs.lua
  scripts/contact/models.lua scripts/dojo/forward_step.lua test_rest test_threads test_step test_world test_step_vjp
  test_property test_kept test_momentum lua_world lua_budget)
# Traced in the random scenes 4368, 8976, 16958 and 6959 (a turn phi and a way s along the face: s phi), not in each of these tests.
s2_known_findings("a face turns while a corner slides along it, which ends below its row: the projection lifts it" jumps
  lua_impulse_gradient lua_jacobian_random lua_joint_fuzz lua_joint_keys scenes/contacts/hopper.lua
  scripts/contact/solvers.lua test_rest test_world test_world_in_auto test_property test_auto test_kept
  test_joint_property test_joint_property_in_auto test_momentum test_reflections lua_ratios lua_joint)
# Of ten such random scenes under `speculative` four are sound where rows are made anew from 1e-4 of the way to a surface on, in place of
# 1e-2 (relinearise_touch). The other six, and these tests, are not traced.
s2_known_findings("an impulse acts where a speculative step expected a contact" events
  lua_cuts lua_contact_smooth scenes/contacts/hopper.lua scripts/contact/models.lua test_rest test_threads test_step
  test_world test_kept test_auto test_property test_together test_joint_motor test_step_vjp test_momentum
  test_ground lua_world lua_budget)
s2_known_findings("the scene is a contradiction" jumps
  test_contradictions test_contradictions_in_auto)
s2_known_findings("a pile is crushed, a contradiction: what is asserted is that its steps end soon" "passages overlaps jumps events"
  lua_crushed)
