#include "peers/measure.h"

#include "bench.h"
#include "peers/accuracy.h"

#include <math.h>
#include <string.h>

enum { TURN = 10, READS = 1001 }; // steps of one engine before the next has its turn

typedef struct Run {
  const PeerEngine *engine;
  void *world;
  double *ms;
  int steps;
  PeerMotion *motion;
  double energy; // J, before the first step measured
  PeerFigures figures;
} Run;

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double sorted_median(double *of, int count) {
  qsort(of, (size_t)count, sizeof *of, compare_doubles);
  return of[count / 2];
}

// ms of one reading of the clock, which is a tenth of a small scene's step.
static double clock_cost(void) {
  static double cost = -1;
  if (cost < 0) {
    double ms[READS];
    for (int i = 0; i < READS; i++) {
      ms[i] = bench_ms();
      ms[i] = bench_ms() - ms[i];
    }
    cost = sorted_median(ms, READS);
  }
  return cost;
}

static void run_begin(Run *run, const PeerEngine *engine, const PeerScene *scene,
                      const PeerCase *of) {
  *run = (Run){.engine = engine, .world = engine->build(scene)};
  run->ms = take_doubles((size_t)of->measure);
  run->motion = take((size_t)scene->bodies, sizeof *run->motion);
  run->figures = (PeerFigures){.engine = engine, .overlap = NAN, .joint_error = NAN};
  for (int i = 0; i < of->settle; i++) {
    engine->step(run->world);
  }
  engine->look(run->world, run->motion);
  run->energy = peer_energy(scene, run->motion);
}

// A turn of steps, each timed by the clock, followed by a reading of the bodies' positions.
static void run_turn(Run *run, const PeerScene *scene, int most) {
  double cost = clock_cost();
  for (int i = 0; i < TURN && run->steps < most; i++) {
    double start = bench_ms();
    run->engine->step(run->world);
    run->ms[run->steps++] = fmax(bench_ms() - start - cost, 0);
  }
  PeerFigures *figures = &run->figures;
  run->engine->look(run->world, run->motion);
  figures->overlap = fmax(figures->overlap, peer_overlap(scene, run->motion));
  figures->joint_error = fmax(figures->joint_error, peer_joint_error(scene, run->motion));
}

static PeerFigures run_end(Run *run, const PeerScene *scene) {
  PeerFigures *figures = &run->figures;
  figures->median = sorted_median(run->ms, run->steps);
  figures->worst = run->ms[run->steps - 1];
  for (int i = 0; i < run->steps; i++) {
    figures->mean += run->ms[i] / run->steps;
  }
  figures->energy = (peer_energy(scene, run->motion) - run->energy) / fabs(run->energy);
  figures->fastest = peer_fastest(scene, run->motion);
  figures->verdict.residual = NAN;
  if (run->engine->judge != NULL) {
    figures->verdict = run->engine->judge(run->world);
  }
  run->engine->end(run->world);
  free(run->ms);
  free(run->motion);
  return *figures;
}

PeerResult peer_measure(const PeerCase *of, const PeerEngine *const *engine, int engines) {
  PeerScene scene = peer_scene(of);
  PeerResult result = {.of = of, .moving = scene.moving, .engines = engines};
  Run run[PEER_ENGINES];
  for (int i = 0; i < engines; i++) {
    run_begin(&run[i], engine[i], &scene, of);
  }
  // In turn, so that all have the same load of the machine.
  for (int step = 0; step < of->measure; step += TURN) {
    for (int i = 0; i < engines; i++) {
      run_turn(&run[i], &scene, of->measure);
    }
  }
  for (int i = 0; i < engines; i++) {
    result.figures[i] = run_end(&run[i], &scene);
  }
  peer_scene_free(&scene);
  return result;
}

double peer_growth(const PeerResult *results, int count, const char *family, int engine) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < count; i++) {
    if (strcmp(results[i].of->family, family) == 0) {
      double x = log(results[i].moving), y = log(results[i].figures[engine].median);
      n += 1;
      sx += x;
      sy += y;
      sxx += x * x;
      sxy += x * y;
    }
  }
  return n < 2 ? NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}
