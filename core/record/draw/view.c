#include "record/draw/view.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SMALLEST_WIDTH = 16,   // pixels. Smaller pictures show nothing useful
  LARGEST_WIDTH = 16384, // pixels. Viewers reject larger pictures
};

// Limits of the ratio of height to width of a fitted picture. Scenes outside these limits get
// margins, for example at the sides of a tower.
#define FLATTEST 0.34
#define STEEPEST 1.1
// If the picture must become higher than the scene, this fraction of the extra height is at the
// top.
#define AIR 0.75
// Limits of the ratio of height to width of a section that the caller chose. Sections outside these
// limits are enlarged.
#define FLATTEST_CHOSEN 0.05
#define STEEPEST_CHOSEN 20.0
// Margin shown around the moving bodies, as a fraction of their extent and in mean body sizes. The
// larger margin is used.
#define CONTEXT_PART   0.12
#define CONTEXT_BODIES 1.2
// A static body around all moving bodies is called a room. It is shown completely if it is at most
// this many times as large as their extent.
#define CONTEXT_ROOM 2.5
// If no static body is near, the nearest one within this many extents is shown, for example the
// ground under a falling ball.
#define CONTEXT_REACH 1.5
// Strays are bodies that are far from all others, for example because they have fallen off. Their
// distance from the middle is more than this many times the median distance. There are no strays if
// more than a quarter of the bodies are so far away, or if there are only a few bodies.
#define STRAY_DISTANCE 12.0
#define STRAY_PART     0.25
enum { SMALLEST_CROWD = 5 };
#define PADDING 0.05 // fraction of the extent
#define LONELY  2.0  // minimum extent of the picture, in body sizes
// m, extent of a picture of a single point
#define POINT_EXTENT 2.0
// Larger coordinates are too large to compute differences. Bodies with such coordinates are
// ignored.
#define FARTHEST 1e15 // m

static S2Box box_empty(void) {
  return (S2Box){{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
}

static bool box_is_empty(S2Box box) {
  return !(box.lo.x <= box.hi.x);
}

static S2Box box_union(S2Box a, S2Box b) {
  return (S2Box){{fmin(a.lo.x, b.lo.x), fmin(a.lo.y, b.lo.y)},
                 {fmax(a.hi.x, b.hi.x), fmax(a.hi.y, b.hi.y)}};
}

static S2Box box_intersection(S2Box a, S2Box b) {
  return (S2Box){{fmax(a.lo.x, b.lo.x), fmax(a.lo.y, b.lo.y)},
                 {fmin(a.hi.x, b.hi.x), fmin(a.hi.y, b.hi.y)}};
}

static S2Box box_grown(S2Box box, double by) {
  return (S2Box){{box.lo.x - by, box.lo.y - by}, {box.hi.x + by, box.hi.y + by}};
}

static double view_extent(S2Box box) {
  return fmax(box.hi.x - box.lo.x, box.hi.y - box.lo.y);
}

// Returns an empty box for a shape that cannot be fitted.
static S2Box shape_box(const S2Moment *moment, const S2MomentBody *body, int32_t index) {
  S2Shape shape = s2_moment_shape(moment, index);
  S2Pose pose = s2_pose(body->q[0], body->q[1], body->q[2]);
  S2Box box = box_empty();
  for (int i = 0; i < shape.count; i++) {
    S2Vec2 p = s2_pose_point(pose, shape.vertices[i]);
    if (!(fabs(p.x) < FARTHEST && fabs(p.y) < FARTHEST)) {
      return box_empty();
    }
    box = box_union(box, (S2Box){p, p});
  }
  return shape.radius < FARTHEST ? box_grown(box, shape.radius) : box_empty();
}

static S2Box body_box(const S2Moment *moment, const S2MomentBody *body) {
  S2Box box = box_empty();
  for (int i = 0; i < body->shape_count; i++) {
    box = box_union(box, shape_box(moment, body, body->first_shape + i));
  }
  return box;
}

static bool view_moves(const S2MomentBody *body) {
  return body->type != S2_STATIC && body->enabled;
}

static S2Vec2 box_middle(S2Box box) {
  return s2_add(box.lo, s2_scale(0.5, s2_sub(box.hi, box.lo)));
}

static int view_ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double view_median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, view_ascending);
  return values[count / 2];
}

// A disc that contains most moving bodies. It is computed from medians, because a few strays do not
// shift them.
typedef struct Crowd {
  S2Vec2 middle;
  double radius; // m, infinite if there are no strays
} Crowd;

static bool in_crowd(Crowd crowd, S2Vec2 p) {
  return s2_length(s2_sub(p, crowd.middle)) <= crowd.radius;
}

static Crowd find_crowd(const S2Box *boxes, int count) {
  Crowd crowd = {.radius = INFINITY};
  if (count < SMALLEST_CROWD) {
    return crowd;
  }
  // Find the middle by medians.
  double *values = s2_memory_take(sizeof(double) * (size_t)count);
  for (int i = 0; i < count; i++) {
    values[i] = box_middle(boxes[i]).x;
  }
  crowd.middle.x = view_median(values, count);
  for (int i = 0; i < count; i++) {
    values[i] = box_middle(boxes[i]).y;
  }
  crowd.middle.y = view_median(values, count);
  // Find the distance within which most bodies are.
  for (int i = 0; i < count; i++) {
    values[i] = s2_length(s2_sub(box_middle(boxes[i]), crowd.middle)) + view_extent(boxes[i]);
  }
  crowd.radius = STRAY_DISTANCE * view_median(values, count);
  s2_memory_free(values);
  // If there are too many strays, include all bodies.
  int strays = 0;
  for (int i = 0; i < count; i++) {
    strays += !in_crowd(crowd, box_middle(boxes[i]));
  }
  if (strays > STRAY_PART * count) {
    crowd.radius = INFINITY;
  }
  return crowd;
}

// ---- Swept areas -----------------------------------------------------------------------------

static S2SweptBody *find_or_add(S2Sweep *sweep, uint64_t serial) {
  // Search by bisection, because bodies are sorted by serial.
  int lo = 0, hi = sweep->bodies.count;
  if (hi > 0 && sweep->bodies.at[hi - 1].serial < serial) {
    lo = hi; // new bodies have new serials
  }
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (sweep->bodies.at[middle].serial < serial) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  if (lo == sweep->bodies.count || sweep->bodies.at[lo].serial != serial) {
    (void)s2_array_push(sweep->bodies);
    S2SweptBody *at = sweep->bodies.at + lo;
    memmove(at + 1, at, sizeof *at * (size_t)(sweep->bodies.count - 1 - lo));
    *at = (S2SweptBody){.serial = serial, .box = box_empty(), .reach = box_empty()};
  }
  return &sweep->bodies.at[lo];
}

static void add_anchor(S2Sweep *sweep, const S2Moment *moment, int32_t body, S2Vec2 anchor) {
  if (body >= 0 && fabs(anchor.x) < FARTHEST && fabs(anchor.y) < FARTHEST) {
    S2SweptBody *swept = find_or_add(sweep, moment->bodies.at[body].id.serial);
    swept->reach = box_union(swept->reach, (S2Box){anchor, anchor});
  }
}

void s2_sweep_add(S2Sweep *sweep, const S2Moment *moment) {
  // Update the areas that bodies have covered.
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    S2SweptBody *swept = find_or_add(sweep, body->id.serial);
    S2Box box = view_moves(body) ? body_box(moment, body) : box_empty();
    if (!box_is_empty(box)) {
      swept->moves = true;
      swept->box = box_union(swept->box, box);
      swept->size = view_extent(box);
    }
  }
  // Update the anchors of joints, which may be far outside.
  for (int i = 0; i < moment->joints.count; i++) {
    const S2MomentJoint *joint = &moment->joints.at[i];
    if (s2_joint_traits(joint->type)->dots == S2_DOTS_NONE) {
      continue;
    }
    add_anchor(sweep, moment, joint->a, joint->anchor_a);
    add_anchor(sweep, moment, joint->a, joint->anchor_b);
    add_anchor(sweep, moment, joint->b, joint->anchor_a);
    add_anchor(sweep, moment, joint->b, joint->anchor_b);
    for (int k = 0; k < joint->ways; k++) {
      add_anchor(sweep, moment, joint->a, joint->way[k]);
      add_anchor(sweep, moment, joint->b, joint->way[k]);
    }
  }
  // Check if there are impulses, because the legend explains their arrows.
  for (int i = 0; i < moment->contacts.count && !sweep->contacts; i++) {
    sweep->contacts = moment->contacts.at[i].normal_impulse > 0;
  }
}

void s2_sweep_free(S2Sweep *sweep) {
  s2_array_free(sweep->bodies);
}

// Returns the box of all moving bodies and their anchors, without strays. Sets `size` to the mean
// extent of these bodies.
static S2Box moving_box(const S2Sweep *sweep, double *size) {
  // Find the strays.
  S2Box *boxes = s2_memory_take(sizeof(S2Box) * ((size_t)sweep->bodies.count + 1));
  int count = 0;
  for (int i = 0; i < sweep->bodies.count; i++) {
    if (sweep->bodies.at[i].moves) {
      boxes[count++] = sweep->bodies.at[i].box;
    }
  }
  Crowd crowd = find_crowd(boxes, count);
  s2_memory_free(boxes);
  // Add the boxes of the other bodies and the reach of their joints.
  S2Box all = box_empty();
  double sum = 0;
  int fitted = 0;
  for (int i = 0; i < sweep->bodies.count; i++) {
    const S2SweptBody *body = &sweep->bodies.at[i];
    if (body->moves && in_crowd(crowd, box_middle(body->box))) {
      all = box_union(all, body->box);
      if (!box_is_empty(body->reach)) {
        all = box_union(all, body->reach);
      }
      sum += body->size;
      fitted += 1;
    }
  }
  *size = fitted > 0 ? sum / fitted : 0;
  return all;
}

// ---- Context ---------------------------------------------------------------------------------

static S2Box view_everything(const S2Moment *moment) {
  S2Box all = box_empty();
  for (int i = 0; i < moment->bodies.count; i++) {
    all = box_union(all, body_box(moment, &moment->bodies.at[i]));
  }
  return all;
}

static double view_clamp(double x, double lo, double hi) {
  return fmin(fmax(x, lo), hi);
}

// Returns the box of a body that is a room (see CONTEXT_ROOM), or an empty box.
static S2Box view_room(const S2Moment *moment, const S2MomentBody *body, S2Box core) {
  if (view_moves(body) || body->shape_count < 2) {
    return box_empty();
  }
  S2Box box = body_box(moment, body);
  bool around =
      box.lo.x < core.lo.x && box.lo.y < core.lo.y && box.hi.x > core.hi.x && box.hi.y > core.hi.y;
  return around && view_extent(box) <= CONTEXT_ROOM * view_extent(core) ? box : box_empty();
}

// Extends the box `core` of the moving bodies by the nearby parts of static bodies, and by whole
// rooms. If no static body is near, adds the nearest point within reach.
static S2Box view_context(const S2Moment *moment, S2Box core, double size) {
  double whole = view_extent(core);
  double margin = fmax(CONTEXT_PART * whole, CONTEXT_BODIES * size);
  // Add the nearby parts of static bodies. Remember the nearest point of the others.
  S2Box near = box_grown(core, margin);
  S2Box all = box_grown(core, PADDING * whole);
  S2Vec2 middle = box_middle(core), nearest = middle;
  double distance = CONTEXT_REACH * whole + 0.5 * whole;
  bool alone = true;
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    S2Box room = view_room(moment, body, core);
    if (!box_is_empty(room)) {
      all = box_union(all, box_grown(room, PADDING * view_extent(room)));
      alone = false;
      continue;
    }
    for (int k = 0; !view_moves(body) && k < body->shape_count; k++) {
      S2Box box = shape_box(moment, body, body->first_shape + k);
      S2Box common = box_intersection(box, near);
      if (common.lo.x <= common.hi.x && common.lo.y <= common.hi.y) {
        all = box_union(all, common);
        alone = false;
      } else if (!box_is_empty(box)) {
        S2Vec2 point = {view_clamp(middle.x, box.lo.x, box.hi.x),
                        view_clamp(middle.y, box.lo.y, box.hi.y)};
        double away = s2_length(s2_sub(point, middle));
        if (away < distance) {
          distance = away;
          nearest = point;
        }
      }
    }
  }
  // If no static body is near, show some of the nearest one.
  return alone ? box_union(all, box_grown((S2Box){nearest, nearest}, 0.25 * margin)) : all;
}

// Extends the box by the dots and texts of the script. Lines and arrows may leave the picture.
static S2Box view_annotated(const S2Moment *moment, S2Box box) {
  for (int i = 0; i < moment->annotations.count; i++) {
    const S2MomentAnnotation *of = &moment->annotations.at[i];
    if (of->type == S2_ANNOTATION_POINT || of->type == S2_ANNOTATION_TEXT) {
      box = box_union(box, (S2Box){of->to, of->to});
    }
  }
  return box;
}

static S2Box fitted_box(const S2Sweep *sweep, const S2Moment *moment) {
  double size = 0;
  // The box of moving bodies and their surroundings, at least a few bodies wide.
  S2Box box = moving_box(sweep, &size);
  if (!box_is_empty(box)) {
    box = view_annotated(moment, box);
    box = view_context(moment, box, size);
    if (view_extent(box) < LONELY * size) {
      box = box_grown(box, 0.5 * (LONELY * size - view_extent(box)));
    }
    // If no body moves, the box contains all bodies.
  } else {
    box = view_everything(moment);
    if (!box_is_empty(box)) {
      box = box_grown(box, PADDING * view_extent(box));
    }
  }
  // Replace an empty box, or enlarge a box that is a point.
  if (box_is_empty(box)) {
    box = (S2Box){{0, 0}, {0, 0}};
  }
  if (!(view_extent(box) > 0)) {
    box = box_grown(box, 0.5 * POINT_EXTENT);
  }
  return box;
}

double s2_view_unit(int width) {
  // Keep letters legible in small pictures, as long as there is space.
  return fmin(fmax(sqrt(width / 800.0), fmin(0.85, width / 450.0)), 2.5);
}

// Grows the box to an allowed ratio of height to width, and adds space for the title and the
// legend. `above` is the fraction of the extra height at the top.
static void set_view(S2SceneView *view, S2Box box, double flattest, double steepest, double above) {
  double w = box.hi.x - box.lo.x, h = box.hi.y - box.lo.y;
  double aspect = w > 0 ? view_clamp(h / w, flattest, steepest) : steepest;
  int height = (int)ceil(aspect * view->width);
  view->height = height + view->top + view->bottom;
  view->scale = fmin(w > 0 ? view->width / w : INFINITY, h > 0 ? height / h : INFINITY);
  S2Vec2 middle = box_middle(box);
  S2Vec2 half = s2_vec2(0.5 * view->width / view->scale, 0.5 * height / view->scale);
  middle.y += (above - 0.5) * (2 * half.y - h);
  view->lo = s2_sub(middle, half);
  view->hi = s2_add(middle, half);
  view->lo.y -= view->bottom / view->scale;
  view->hi.y += view->top / view->scale;
}

static void set_margins(S2SceneView *view, const S2Sweep *sweep, const S2DrawOptions *options) {
  const double title = 34, row = 21, rim = 9; // pixels, in a picture that is 800 pixels wide
  enum { ONE_ROW = 720 };                     // pixels, wide enough for a legend of one row
  double unit = s2_view_unit(view->width);
  bool arrows = options->contacts && sweep->contacts;
  view->rows = !options->legend ? 0 : arrows && view->width < ONE_ROW ? 2 : 1;
  view->bottom = view->rows > 0 ? (int)ceil((view->rows * row + rim) * unit) : 0;
  view->top = options->title[0] != '\0' ? (int)ceil(title * unit) : 0;
}

void s2_view_follow(S2SceneView *view, const S2Moment *moment, const S2DrawOptions *options) {
  if (options->follow.index == 0) {
    return;
  }
  for (int i = 0; i < moment->bodies.count; i++) {
    const S2MomentBody *body = &moment->bodies.at[i];
    if (body->id.index == options->follow.index && body->id.serial == options->follow.serial &&
        fabs(body->q[1]) < FARTHEST && fabs(body->q[2]) < FARTHEST) {
      double above = 0.5 * (view->top - view->bottom) / view->scale;
      S2Vec2 half = s2_scale(0.5, s2_sub(view->hi, view->lo));
      S2Vec2 middle = s2_vec2(body->q[1], body->q[2] + above);
      view->lo = s2_sub(middle, half);
      view->hi = s2_add(middle, half);
      return;
    }
  }
}

S2Status s2_view_fit(const S2Sweep *sweep, const S2Moment *moment, const S2DrawOptions *options,
                     S2SceneView *view) {
  if (options->width < SMALLEST_WIDTH || options->width > LARGEST_WIDTH) {
    return s2_error(S2_INVALID, "the width of a picture is %d; it must be from %d to %d pixels",
                    options->width, SMALLEST_WIDTH, LARGEST_WIDTH);
  }
  *view = (S2SceneView){.width = options->width};
  set_margins(view, sweep, options);
  // Fit the section, or check the section that the caller chose.
  if (options->fit) {
    set_view(view, fitted_box(sweep, moment), FLATTEST, STEEPEST, AIR);
    return s2_ok();
  }
  S2Vec2 lo = options->lo, hi = options->hi;
  bool near = fabs(lo.x) < FARTHEST && fabs(lo.y) < FARTHEST && fabs(hi.x) < FARTHEST &&
              fabs(hi.y) < FARTHEST;
  if (!near || !(lo.x < hi.x) || !(lo.y < hi.y)) {
    return s2_error(S2_INVALID,
                    "the view of a picture is (%g, %g) .. (%g, %g); the first corner must be to "
                    "the left of the second corner and below it",
                    lo.x, lo.y, hi.x, hi.y);
  }
  set_view(view, (S2Box){lo, hi}, FLATTEST_CHOSEN, STEEPEST_CHOSEN, 0.5);
  return s2_ok();
}

S2Status s2_view_of(const S2Moment *moment, const S2DrawOptions *options, S2SceneView *view) {
  S2Sweep sweep = {0};
  s2_sweep_add(&sweep, moment);
  S2Status status = s2_view_fit(&sweep, moment, options, view);
  s2_sweep_free(&sweep);
  if (status.code == S2_OK) {
    s2_view_follow(view, moment, options);
  }
  return status;
}
