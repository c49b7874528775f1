# Tests that run in the release build alone. Sanitizers look for faults of memory and undefined behaviour in the code,
# and these tests take long to call what other tests call, too, with other numbers: digits, statistics, whole scenes.
# Measured with gcov over all tests of the sanitized build (docs/testing.md, "With sanitizers"): a test is listed when
# hardly any branch of core and lua is reached by it alone.

# programs in C
set_property(GLOBAL APPEND PROPERTY S2_RELEASE_ONLY
    test_event_vjp test_every_joint test_implicit test_mcp_vjp_share test_repay_vjp test_step_vjp)

# Lua tests
set_property(GLOBAL APPEND PROPERTY S2_RELEASE_ONLY
    lua_boosts lua_budget lua_closed_forms lua_contact_smooth lua_cuts lua_docs lua_event_energy lua_fit
    lua_jacobian_random lua_joint_error lua_kept lua_laws lua_optimize lua_orders lua_pour lua_ratio_gradient
    lua_ratios lua_redundant_gradient lua_solve_gradient lua_trajectory lua_world_gradient_random)

# scenes
set_property(GLOBAL APPEND PROPERTY S2_RELEASE_ONLY
    scenes/contacts/disc_pile.lua scenes/contacts/dominoes.lua scenes/contacts/galton.lua scenes/contacts/hopper.lua
    scenes/joints/cantilever.lua scenes/joints/compliant_chain.lua scenes/joints/trampoline.lua
    scenes/machines/gear_train.lua scenes/machines/lidar.lua scenes/machines/sorter.lua scenes/tasks/ball_in_cup.lua
    scenes/tasks/block_stacking.lua scenes/tasks/finger_spin.lua scenes/tasks/gripper.lua scenes/tasks/hopper.lua
    scenes/tasks/pendulum.lua scenes/tasks/push_t.lua scenes/tasks/walker.lua)

# scripts
set_property(GLOBAL APPEND PROPERTY S2_RELEASE_ONLY
    scripts/batch/evolution.lua scripts/compliant/energy_map.lua scripts/compliant/hard_to_soft.lua
    scripts/contact/arch.lua scripts/contact/models.lua scripts/contact/painleve.lua scripts/contact/smooth_push.lua
    scripts/contact/solvers.lua scripts/contact/stick_slip.lua
    scripts/control/arm_pushes.lua scripts/control/basin.lua scripts/control/basin_lqr.lua
    scripts/control/billiards.lua scripts/control/computed_torque.lua scripts/control/fit_log.lua
    scripts/control/hopper.lua scripts/control/lcs.lua scripts/control/learned_cart_pole.lua
    scripts/control/methods.lua scripts/control/mpc_push.lua scripts/control/paddle.lua scripts/control/pid_tuning.lua
    scripts/control/push_box.lua scripts/control/swing_up.lua scripts/control/walker.lua scripts/control/wall.lua
    scripts/dojo/corrector.lua
    scripts/dojo/forward_step.lua scripts/dojo/kappa.lua scripts/gradients/contact_change.lua
    scripts/gradients/diff_sim_2_target.lua scripts/gradients/diff_sim_3_two_balls.lua
    scripts/lcp_notes/02_sliding_forwards.lua scripts/lcp_notes/03_direct.lua scripts/lcp_notes/05_traditional.lua
    scripts/lcp_notes/06_mixed.lua scripts/lcp_notes/07_point_mass.lua scripts/lcp_notes/08_noise.lua
    scripts/lcp_notes/11_relu_learning.lua scripts/lcp_notes/12_slack_friction.lua scripts/lcp_notes/13c_basis.lua
    scripts/lcp_notes/14_linear_programme.lua scripts/lcp_notes/15_bilevel.lua scripts/lcp_notes/16_point_on_plane.lua
    scripts/lcp_notes/17_unknown_friction.lua scripts/lcp_notes/ideas/markov_chain.lua
    scripts/learning/many_samples.lua scripts/learning/network.lua scripts/learning/regularised.lua
    scripts/learning/slack_penalty.lua scripts/learning/varying_matrix.lua scripts/live/tune.lua
    scripts/parallel/basin.lua scripts/parallel/dice.lua scripts/parallel/galton_monte_carlo.lua
    scripts/parallel/phase_diagram.lua scripts/parallel/randomised_gains.lua scripts/parallel/stack_tolerances.lua
    scripts/physics_paper/billiards.lua scripts/physics_paper/chain.lua scripts/physics_paper/many_parameters.lua
    scripts/physics_paper/sliding_disc.lua scripts/plots/kinds.lua scripts/poster/tumbling_polygon.lua
    scripts/real_cube/fit_slides.lua scripts/real_cube/implicit.lua scripts/real_cube/mass.lua
    scripts/real_cube/slides.lua scripts/real_cube/tumbles.lua)

# What the longest tests took, in s, in the slower of the release and the sanitized build. A fresh folder knows no
# times of its own; the order alone counts, so the numbers may be old.
function(s2_seconds seconds)
  foreach(name IN LISTS ARGN)
    set_property(GLOBAL PROPERTY "S2_SECONDS_${name}" ${seconds})
  endforeach()
endfunction()

s2_seconds(60
   browser_player lua_pour lua_rattle_gradient lua_rattle_contact_gradient)
s2_seconds(40
   scenes/contacts/hopper.lua scripts/batch/evolution.lua lua_recording test_lcp
   scripts/parallel/galton_monte_carlo.lua lua_journal)
s2_seconds(30
   lua_cli lua_crushed scenes/tasks/pendulum.lua scripts/live/tune.lua scripts/lcp_notes/ideas/markov_chain.lua
   browser_live_page test_event_vjp lua_fit)
s2_seconds(20
   test_event_joint_vjp scripts/physics_paper/billiards.lua test_step_vjp lua_audits scenes/tasks/push_t.lua
   scripts/control/methods.lua test_island_vjp test_kkt test_gradients lua_fuzz_callbacks browser_live
   scripts/contact/arch.lua test_joint_vjp lua_parallel browser_pictures)
s2_seconds(15
   scripts/control/paddle.lua scripts/control/push_box.lua lua_rattle scripts/parallel/dice.lua test_extremes
   test_implicit test_vjp lua_trajectory lua_laws scenes/contacts/galton.lua lua_sweep test_property test_kept
   lua_passage)
s2_seconds(10
   lua_force_laws lua_random_gradients browser_play scripts/control/swing_up.lua lua_script_gradient test_mcp_vjp_share lua_budget lua_convex
   scripts/control/billiards.lua scripts/contact/solvers.lua scripts/control/computed_torque.lua
   scripts/real_cube/tumbles.lua test_repay_vjp test_program scripts/control/basin_lqr.lua test_every_joint
   scripts/real_cube/implicit.lua test_rest scripts/gradients/diff_sim_3_two_balls.lua scenes/tasks/walker.lua
   scripts/control/basin.lua lua_docs lua_data test_lcp_sparse scripts/learning/slack_penalty.lua)
s2_seconds(8
   test_second_order scripts/control/walker.lua lua_event_energy lua_law_gradient scripts/parallel/basin.lua
   s2d_reader test_batch lua_rattle_contact lua_cuts test_threads scripts/control/pid_tuning.lua)
