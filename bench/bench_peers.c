// The same scenes with sim2d, Chipmunk and Box2D in one run: time and accuracy of a step.
//
//   bench_peers [--all] [--engine NAME] [--steps N] [--json FILE] [--svg FILE] [NAME ...]
//
// All scenes except those that take minutes (--all), or those whose name starts so. stack10 and
// pyramidB are boxes at rest, besideB is such a pyramid and a pendulum that swings beside it, pourN
// are N discs while they fall into a box and pileN the same ones 20 s later, bridge is 100 links on
// hinges. sim2d is measured with its defaults, without kept
// islands ("stepped"), with convex contact and with a budget. Engines step in turn, 10 steps each,
// on one thread; times are this thread's, and medians and the worst are printed. The peers are
// those that were found at build time (Debian: chipmunk-dev, libbox2d-dev; Box2D 3 by its CMake
// package, -Dbox2d_ROOT=FOLDER), with their default
// iterations; dt is 1/60 s, g 10 m/s^2, friction .6, restitution 0, and sleeping is off.
//
// "sim2d is" is the median of sim2d divided by the median of the engine. Overlap and joint error
// are the largest of those after every tenth step, "energy" is the change of kinetic and potential
// energy over the measured steps, as a part of the initial one, "fastest" the speed of the fastest
// body at the end, m/s.
#include "bench.h"
#include "peers/report.h"

#include <string.h>

static const char usage[] = "bench_peers [--all] [--engine NAME] [--steps N] [--json FILE] "
                            "[--svg FILE] [NAME ...]\n";

static const PeerEngine *const engines[] = {
    &peer_sim2d,    &peer_stepped, &peer_convex, &peer_budget,
#ifdef S2_HAVE_CHIPMUNK
    &peer_chipmunk,
#endif
#ifdef S2_HAVE_BOX2D
    &peer_box2d,
#endif
#ifdef S2_HAVE_BOX2D3
    &peer_box2d3,
#endif
};

typedef struct Wish {
  bool all;
  const char *json, *svg;
  const char *engine, *steps; // NULL: all of them, and the scene's own number
  char **names;
  int count;
} Wish;

static Wish read_wish(int argc, char **argv) {
  Wish wish = {.names = argv + 1};
  for (int i = 1; i < argc; i++) {
    const char **value = strcmp(argv[i], "--json") == 0     ? &wish.json
                         : strcmp(argv[i], "--svg") == 0    ? &wish.svg
                         : strcmp(argv[i], "--engine") == 0 ? &wish.engine
                         : strcmp(argv[i], "--steps") == 0  ? &wish.steps
                                                            : NULL;
    if (value != NULL && i + 1 < argc) {
      *value = argv[++i];
    } else if (strcmp(argv[i], "--all") == 0) {
      wish.all = true;
    } else if (argv[i][0] == '-') {
      fputs(usage, stderr);
      exit(2);
    } else {
      wish.names[wish.count++] = argv[i];
    }
  }
  return wish;
}

static bool is_wanted(const Wish *wish, const PeerCase *of) {
  bool wanted = wish->count == 0 && (wish->all || !of->slow);
  for (int i = 0; i < wish->count; i++) {
    wanted |= strncmp(of->name, wish->names[i], strlen(wish->names[i])) == 0 &&
              (wish->all || !of->slow || strcmp(of->name, wish->names[i]) == 0);
  }
  return wanted;
}

static void write_report(const char *path, void write(FILE *, const PeerResult *, int),
                         const PeerResult *results, int count) {
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  if (file != NULL) {
    write(file, results, count);
  }
  if (path != NULL && (file == NULL || fclose(file) != 0)) {
    fprintf(stderr, "benchmark: cannot write %s\n", path);
    exit(1);
  }
}

// The requested engines; returns their number.
static int choose_engines(const Wish *wish, const PeerEngine **chosen) {
  int count = 0;
  for (size_t k = 0; k < sizeof engines / sizeof(PeerEngine *); k++) {
    if (wish->engine == NULL || strcmp(wish->engine, engines[k]->name) == 0) {
      const char *version = engines[k]->version(); // Chipmunk prints something itself
      printf("%s %s\n", engines[k]->name, version);
      chosen[count++] = engines[k];
    }
  }
  if (count == 0) {
    fprintf(stderr, "benchmark: no engine %s here\n", wish->engine);
    exit(2);
  }
  return count;
}

int main(int argc, char **argv) {
  const PeerEngine *chosen[PEER_ENGINES];
  Wish wish = read_wish(argc, argv);
  int steps = wish.steps == NULL ? 0 : (int)strtol(wish.steps, NULL, 10);
  int engine_count = choose_engines(&wish, chosen), count = 0;
  PeerResult *results = take((size_t)peer_case_count, sizeof *results);
  PeerCase *cases = take((size_t)peer_case_count, sizeof *cases);
  peer_table_head();
  for (int i = 0; i < peer_case_count; i++) {
    if (is_wanted(&wish, &peer_cases[i])) {
      cases[i] = peer_cases[i];
      cases[i].measure = steps > 0 ? steps : cases[i].measure;
      results[count] = peer_measure(&cases[i], chosen, engine_count);
      peer_table_rows(&results[count++]);
    }
  }
  // The results over all scenes.
  peer_table_growth(results, count);
  if (count > 0) {
    write_report(wish.json, peer_json, results, count);
    write_report(wish.svg, peer_chart, results, count);
  }
  free(cases);
  free(results);
  return 0;
}
