#include "lua/command/command_stats.h"

#include <inttypes.h>
#include <stdio.h>

static void print_count(const char *name, uint64_t count) {
  fprintf(stderr, "  %-18s %12" PRIu64 "\n", name, count);
}

static void print_small(const char *name, double value, const char *unit) {
  fprintf(stderr, "  %-18s %12.3g %s\n", name, value, unit);
}

static void print_seconds(const char *name, double seconds, double total) {
  fprintf(stderr, "  %-18s %12.4f s", name, seconds);
  if (total > 0) {
    fprintf(stderr, " %6.1f %%", 100 * seconds / total);
  }
  fputc('\n', stderr);
}

void s2_command_stats_print(const S2Session *session) {
  const S2WorldStats *total = &session->total;
  fflush(stdout);
  fputs("sim2d: statistics of the run\n", stderr);
  // Print the work done by each solver.
  print_count("worlds", (uint64_t)session->worlds);
  print_count("steps", total->steps);
  print_count("bisections", total->bisections);
  print_count("splits", total->splits);
  print_count("island solves", total->solves);
  for (int i = 0; i < S2_SOLVER_COUNT; i++) {
    if (total->used[i] > 0) {
      char name[40];
      snprintf(name, sizeof name, "  by %s", s2_solver_name((S2Solver)i));
      print_count(name, total->used[i]);
    }
  }
  // Exceptional events.
  print_count("second solves", total->second_solves);
  print_count("projections", total->projections);
  print_count("relinearisations", total->relinearisations);
  print_count("rows that stayed", total->rows_stayed);
  print_count("halved islands", total->halved);
  print_count("contradictions", total->contradictions);
  print_count("unsolved impacts", total->unsolved_impacts);
  print_count("kept islands", total->kept);
  print_count("shared islands", total->shared);
  print_count("stiffened islands", total->stiffened);
  print_count("iterations", total->iterations);
  print_count("unsolved steps", total->unsolved);
  print_count("unsolved solves", total->unsolved_solves);
  print_count("cut steps", total->cut);
  print_count("mode changes", total->mode_changes);
  print_count("audit: passages", total->audit.passages);
  print_count("audit: overlaps", total->audit.overlaps);
  print_count("audit: jumps", total->audit.jumps);
  print_count("audit: slips", total->audit.slips);
  print_count("audit: momenta", total->audit.momenta);
  print_count("audit: energies", total->audit.energies);
  print_count("audit: events", total->audit.events);
  print_count("audit: drifts", total->audit.drifts);
  // Print the worst values of the run.
  print_small("worst residual", total->worst_scaled, "(scaled)");
  print_small("worst penetration", total->worst_penetration, "m");
  print_small("worst joint error", total->worst_joint_error, "m");
  // The percentages refer to the sum of step time and callback time.
  double seconds = total->seconds_total + session->seconds_lua;
  print_seconds("broad phase", total->seconds_broad, seconds);
  print_seconds("narrow phase", total->seconds_narrow, seconds);
  print_seconds("solve", total->seconds_solve, seconds);
  print_seconds("projection", total->seconds_project, seconds);
  print_seconds("Lua callbacks", session->seconds_lua, seconds);
  print_seconds("steps, total", total->seconds_total, 0);
}

void s2_command_findings_print(const S2Session *session) {
  const S2AuditStats *found = &session->found;
  const struct {
    const char *name;
    uint64_t count;
  } kinds[] = {{"passages", found->passages}, {"overlaps", found->overlaps},
               {"jumps", found->jumps},       {"momenta", found->momenta},
               {"slips", found->slips},       {"drifts", found->drifts},
               {"energies", found->energies}, {"events", found->events}};
  fprintf(stderr, "sim2d: --audit: findings:");
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].count > 0) {
      fprintf(stderr, " %s %" PRIu64 ",", kinds[i].name, kinds[i].count);
    }
  }
  fprintf(stderr, " the first: %s\n", session->finding);
}
