#include "peers/report.h"

#include <math.h>

static void json_number(FILE *file, const char *key, double x, const char *end) {
  if (isfinite(x)) {
    fprintf(file, "\"%s\": %.6g%s", key, x, end);
  } else {
    fprintf(file, "\"%s\": null%s", key, end);
  }
}

static void json_figures(FILE *file, const PeerFigures *figures) {
  fprintf(file, "      {\"engine\": \"%s\", ", figures->engine->name);
  json_number(file, "median_ms", figures->median, ", ");
  json_number(file, "mean_ms", figures->mean, ", ");
  json_number(file, "worst_ms", figures->worst, ", ");
  json_number(file, "overlap_m", figures->overlap, ", ");
  json_number(file, "joint_error_m", figures->joint_error, ", ");
  json_number(file, "energy_change", figures->energy, ", ");
  json_number(file, "fastest_m_s", figures->fastest, ", ");
  json_number(file, "residual", figures->verdict.residual, ", ");
  json_number(file, "unsolved",
              figures->engine->judge == NULL ? NAN : (double)figures->verdict.unsolved, "}");
}

static void json_growth(FILE *file, const PeerResult *results, int count) {
  const char *comma = "";
  fprintf(file, "  \"growth\": [");
  for (int i = 0; i < count; i++) {
    const char *family = results[i].of->family;
    for (int k = 0; k < results[i].engines && peer_begins_family(results, i); k++) {
      double growth = peer_growth(results, count, family, k);
      if (!isnan(growth)) {
        fprintf(file, "%s\n    {\"family\": \"%s\", \"engine\": \"%s\", ", comma, family,
                results[i].figures[k].engine->name);
        json_number(file, "exponent", growth, "}");
        comma = ",";
      }
    }
  }
  fprintf(file, "\n  ]\n");
}

void peer_json(FILE *file, const PeerResult *results, int count) {
  fprintf(file, "{\n  \"versions\": {");
  for (int k = 0; count > 0 && k < results->engines; k++) {
    const PeerEngine *engine = results->figures[k].engine;
    fprintf(file, "%s\"%s\": \"%s\"", k > 0 ? ", " : "", engine->name, engine->version());
  }
  fprintf(file, "},\n  \"scenes\": [\n");
  for (int i = 0; i < count; i++) {
    const PeerResult *result = &results[i];
    fprintf(file, "    {\"scene\": \"%s\", \"family\": \"%s\", \"bodies\": %d, ", result->of->name,
            result->of->family, result->moving);
    fprintf(file, "\"settling_steps\": %d, \"measured_steps\": %d, \"engines\": [\n",
            result->of->settle, result->of->measure);
    for (int k = 0; k < result->engines; k++) {
      json_figures(file, &result->figures[k]);
      fprintf(file, "%s\n", k + 1 < result->engines ? "," : "");
    }
    fprintf(file, "    ]}%s\n", i + 1 < count ? "," : "");
  }
  fprintf(file, "  ],\n");
  json_growth(file, results, count);
  fprintf(file, "}\n");
}
