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
   scripts/contact_implicit/hopper.lua scripts/contact_implicit/push_t.lua lua_force_laws lua_random_gradients
   browser_play scripts/control/swing_up.lua lua_script_gradient test_mcp_vjp_share lua_budget lua_convex
   scripts/control/billiards.lua scripts/contact/solvers.lua scripts/control/computed_torque.lua
   scripts/real_cube/tumbles.lua test_repay_vjp test_program scripts/control/basin_lqr.lua test_midpoint
   scripts/real_cube/implicit.lua test_rest scripts/gradients/diff_sim_3_two_balls.lua scenes/tasks/walker.lua
   scripts/control/basin.lua lua_docs lua_data test_lcp_sparse scripts/learning/slack_penalty.lua)
s2_seconds(8
   test_second_order scripts/control/walker.lua lua_event_energy lua_law_gradient scripts/parallel/basin.lua
   s2d_reader test_batch lua_rattle_contact lua_cuts test_threads scripts/control/pid_tuning.lua)
