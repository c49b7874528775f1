#include "peers/report.h"

#include <math.h>

// px
enum { LEFT = 100, PLOT = 450, BESIDE = 190, TOP = 80, BOTTOM = 36 };
enum { BAR = 12, BAR_ROOM = 14, GROUP_GAP = 12 };
enum { WIDTH = LEFT + PLOT + BESIDE };

static const char *const colours[PEER_ENGINES] = {"#1f4f77", "#2f6f9f", "#6ba3cb",
                                                  "#a9c9de", "#d08a3c", "#8a9a5b"};
static const char *const ink = "#2b3440", *const pale = "#5a6472"; // colours of words
static const char *const line = "#e6e3db", *const paper = "#fdfcf8";

typedef struct Axis {
  double from, to; // logarithms to the base of ten, of ms
} Axis;

static double axis_x(Axis axis, double ms) {
  double part = (log10(ms) - axis.from) / (axis.to - axis.from);
  return LEFT + PLOT * fmin(fmax(part, 0.002), 1);
}

// From a power of ten below all to the worst step.
static Axis axis_of(const PeerResult *results, int count) {
  double least = INFINITY, most = 0;
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < results[i].engines; k++) {
      least = fmin(least, results[i].figures[k].median);
      most = fmax(most, results[i].figures[k].worst);
    }
  }
  least = fmax(least, 1e-6);
  double from = floor(log10(least));
  return (Axis){from, fmax(log10(fmax(most, least)), from + 1)};
}

static double group_height(const PeerResult *result) {
  return BAR_ROOM * result->engines + GROUP_GAP;
}

static void chart_head(FILE *file, const PeerResult *first) {
  fprintf(file,
          "<text x=\"12\" y=\"26\" font-size=\"16\" font-weight=\"bold\" fill=\"%s\">Time of a "
          "step, ms</text>\n",
          ink);
  fprintf(file,
          "<text x=\"12\" y=\"44\" font-size=\"11\" fill=\"%s\">Bars: the median, lines: the worst "
          "step. Beside them the median and how far bodies overlap, or hinges are apart.</text>\n",
          pale);
  for (int k = 0; k < first->engines && k < PEER_ENGINES; k++) {
    double x = LEFT + 90 * k;
    fprintf(file, "<rect x=\"%.0f\" y=\"56\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
            colours[k]);
    fprintf(file, "<text x=\"%.0f\" y=\"66\" font-size=\"12\" fill=\"%s\">%s</text>\n", x + 17, ink,
            first->figures[k].engine->name);
  }
}

// A line and a number for each power of ten.
static void chart_axis(FILE *file, Axis axis, double bottom) {
  for (int power = (int)axis.from; power <= axis.to; power++) {
    double x = LEFT + PLOT * (power - axis.from) / (axis.to - axis.from);
    fprintf(file,
            "<path d=\"M%.1f %dL%.1f %.1f\" stroke=\"%s\" stroke-width=\"1\" fill=\"none\"/>\n", x,
            TOP - 6, x, bottom, line);
    fprintf(file,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" text-anchor=\"middle\" "
            "fill=\"%s\">%g</text>\n",
            x, bottom + 16, pale, pow(10, power));
  }
}

static void chart_bar(FILE *file, Axis axis, const PeerFigures *figures, int k, double y) {
  double end = axis_x(axis, figures->median), worst = axis_x(axis, figures->worst);
  bool hinged = isnan(figures->overlap);
  double error = hinged ? figures->joint_error : figures->overlap;
  const char *of = hinged ? "apart" : "overlap";
  int digits = (int)fmax(1 - floor(log10(fmax(figures->median, 1e-6))), 0); // two that count
  fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y,
          end - LEFT, BAR, colours[k]);
  fprintf(file,
          "<path d=\"M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f\" stroke=\"%s\" "
          "stroke-width=\"1.5\" fill=\"none\"/>\n",
          end, y + BAR / 2.0, worst, y + BAR / 2.0, worst, y + 3, worst, y + BAR - 3, colours[k]);
  // The texts have an outline in the paper's colour, so that lines of the axis do not cross them.
  fprintf(file,
          "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"%s\" stroke=\"%s\" "
          "stroke-width=\"3\" paint-order=\"stroke\">%.*f ms, ",
          worst + 6, y + 10, pale, paper, digits, figures->median);
  if (error > 0) {
    fprintf(file, "%s %.0e m</text>\n", of, error);
  } else {
    fprintf(file, "no %s</text>\n", of);
  }
}

void peer_chart(FILE *file, const PeerResult *results, int count) {
  double bottom = TOP;
  for (int i = 0; i < count; i++) {
    bottom += group_height(&results[i]);
  }
  Axis axis = axis_of(results, count);
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d "
          "%.0f\" font-family=\"Helvetica, Arial, sans-serif\">\n",
          WIDTH, bottom + BOTTOM, WIDTH, bottom + BOTTOM);
  fprintf(file, "<rect width=\"%d\" height=\"%.0f\" fill=\"%s\"/>\n", WIDTH, bottom + BOTTOM,
          paper);
  if (count > 0) {
    chart_head(file, &results[0]);
  }
  chart_axis(file, axis, bottom);

  // A group of bars for each scene.
  double y = TOP;
  for (int i = 0; i < count; i++) {
    const PeerResult *result = &results[i];
    fprintf(
        file,
        "<text x=\"%d\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\" fill=\"%s\">%s</text>\n",
        LEFT - 8, y + BAR_ROOM * result->engines / 2.0 + 3, ink, result->of->name);
    for (int k = 0; k < result->engines && k < PEER_ENGINES; k++) {
      chart_bar(file, axis, &result->figures[k], k, y + BAR_ROOM * k);
    }
    y += group_height(result);
  }
  fprintf(file, "</svg>\n");
}
