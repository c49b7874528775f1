// Text: names of bodies, the title above the picture, and below it time, scale and the meaning of
// arrows.
#include "record/draw/picture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FONT_SIZE   12.0 // pixels, in a picture that is 800 pixels wide
#define TITLE_SIZE  16.0
#define GLYPH_WIDTH 0.57 // mean width of a character, relative to the font size

static S2Paint text_paint(const S2Picture *picture, uint32_t color) {
  return (S2Paint){.fill = color, .stroke = picture->theme->halo, .width = 2.6 * picture->unit};
}

// Estimates the width in pixels. It is not exact, because back ends have different fonts.
static double text_width(const char *text, double size) {
  int characters = 0;
  for (; *text != '\0'; text++) {
    characters += (*text & 0xc0) != 0x80; // only count the first byte of each character
  }
  return GLYPH_WIDTH * size * characters;
}

// ---- Names ------------------------------------------------------------------------------------

typedef struct Label {
  S2Vec2 centre; // pixels, y down
  double width, height;
} Label;

typedef struct Labels {
  S2_ARRAY(Label) placed;
} Labels;

static bool is_free(const Labels *labels, const Label *label) {
  for (int i = 0; i < labels->placed.count; i++) {
    const Label *other = &labels->placed.at[i];
    if (2 * fabs(other->centre.x - label->centre.x) < other->width + label->width &&
        2 * fabs(other->centre.y - label->centre.y) < other->height + label->height) {
      return false;
    }
  }
  return true;
}

// Finds the middle of the visible part of a static body. The middle of a large landscape is rarely
// visible. Returns false if no part is visible.
static bool visible_middle(const S2Picture *picture, const S2MomentBody *body, S2Vec2 *middle) {
  const S2SceneView *view = &picture->scene->view;
  S2Pose pose = s2_pose(body->q[0], body->q[1], body->q[2]);
  // Find the pixels that the body covers.
  double lo_x = view->width, hi_x = 0, lo_y = view->height, hi_y = 0;
  for (int i = 0; i < body->shape_count; i++) {
    S2Shape shape = s2_moment_shape(picture->moment, body->first_shape + i);
    double radius = shape.radius * view->scale;
    for (int k = 0; k < shape.count; k++) {
      S2Vec2 at = s2_view_pixel(view, s2_pose_point(pose, shape.vertices[k]));
      lo_x = fmin(lo_x, at.x - radius);
      hi_x = fmax(hi_x, at.x + radius);
      lo_y = fmin(lo_y, at.y - radius);
      hi_y = fmax(hi_y, at.y + radius);
    }
  }
  // Clip this to the visible area between the strips.
  lo_x = fmax(lo_x, 0);
  hi_x = fmin(hi_x, view->width);
  lo_y = fmax(lo_y, view->top);
  hi_y = fmin(hi_y, view->height - view->bottom);
  *middle = s2_vec2(0.5 * (lo_x + hi_x), 0.5 * (lo_y + hi_y));
  return lo_x < hi_x && lo_y <= hi_y;
}

// Draws a name on its body or near it. Omits the name if there is no free place.
static void place_name(S2Picture *picture, Labels *labels, const S2MomentBody *body) {
  static const double offsets[][2] = {{0, 0}, {0, -1}, {0, 1}, {1, 0}, {-1, 0}, {0, -2}, {0, 2}};
  const S2SceneView *view = &picture->scene->view;
  double size = FONT_SIZE * picture->unit, width = text_width(body->name, size) + 0.4 * size;
  // Names are placed inside the picture, between the strips.
  double lowest = view->height - view->bottom - 0.8 * size, highest = view->top + 0.8 * size;
  S2Vec2 at = s2_view_pixel(view, s2_vec2(body->q[1], body->q[2]));
  double left = 0.5 * width + 0.4 * size, right = view->width - left;
  // Label the visible part of static bodies.
  if (body->type == S2_STATIC && !visible_middle(picture, body, &at)) {
    return;
  }
  bool seen = at.x >= 0 && at.x <= view->width && at.y >= view->top && at.y <= lowest + size;
  if (!seen || left > right) {
    return;
  }
  // Try the place on the body, then the places beside it.
  for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
    Label label = {.width = width, .height = 1.2 * size};
    double aside = offsets[i][0] * (0.5 * width + size);
    label.centre.x = fmin(fmax(at.x + aside, left), right);
    label.centre.y = fmin(fmax(at.y + 1.25 * size * offsets[i][1], highest), lowest);
    if (is_free(labels, &label)) {
      *s2_array_append(labels->placed) = label;
      s2_scene_text(picture->scene, s2_view_world(view, label.centre), s2_vec2(0, -0.35 * size),
                    size, S2_TEXT_CENTRE, body->name, text_paint(picture, picture->theme->ink));
      return;
    }
  }
}

void s2_picture_names(S2Picture *picture) {
  Labels labels = {0};
  for (int pass = 0; pass < 2; pass++) { // label moving bodies first
    for (int i = 0; i < picture->moment->bodies.count; i++) {
      const S2MomentBody *body = &picture->moment->bodies.at[i];
      if (body->name[0] != '\0' && (body->type == S2_STATIC) == (pass == 1)) {
        place_name(picture, &labels, body);
      }
    }
  }
  s2_array_free(labels.placed);
}

// ---- The strips above and below ---------------------------------------------------------------

// Draws a rectangle in the background colour between two heights in pixels.
static void clear_strip(S2Picture *picture, double top, double bottom) {
  const S2SceneView *view = &picture->scene->view;
  const double bleed = 4; // pixels that the rectangle extends beyond the picture
  double y0 = top <= 0 ? top - bleed : top, y1 = bottom >= view->height ? bottom + bleed : bottom;
  const S2Vec2 corners[4] = {
      s2_view_world(view, s2_vec2(-bleed, y1)),
      s2_view_world(view, s2_vec2(view->width + bleed, y1)),
      s2_view_world(view, s2_vec2(view->width + bleed, y0)),
      s2_view_world(view, s2_vec2(-bleed, y0)),
  };
  s2_scene_outline(picture->scene, s2_pose(0, 0, 0), corners, 4, 0,
                   (S2Paint){.fill = picture->theme->background});
}

static void draw_title(S2Picture *picture) {
  const S2SceneView *view = &picture->scene->view;
  double unit = picture->unit, margin = FONT_SIZE * unit;
  char title[S2_TITLE_SIZE];
  snprintf(title, sizeof title, "%s", picture->options->title);
  // Shrink a long title first. If it is still too long, cut off characters at its end.
  double room = view->width - 2 * margin, size = TITLE_SIZE * unit;
  double width = text_width(title, size);
  if (width > room) {
    size = fmax(size * room / width, 0.75 * size);
  }
  size_t length = strlen(title);
  while (text_width(title, size) > room && length > 3) {
    do {
      length--;
    } while (length > 0 && (title[length] & 0xc0) == 0x80);
    snprintf(title + length, sizeof title - length, "\xe2\x80\xa6");
  }
  clear_strip(picture, 0, view->top);
  S2Vec2 at = s2_view_world(view, s2_vec2(margin, 0.5 * view->top));
  s2_scene_text(picture->scene, at, s2_vec2(0, -0.35 * size), size, S2_TEXT_LEFT, title,
                text_paint(picture, picture->theme->ink));
}

// Returns the largest number up to `limit` that is 1, 2 or 5 times a power of ten.
static double round_length(double limit) {
  double power = pow(10, floor(log10(limit)));
  return limit >= 5 * power ? 5 * power : limit >= 2 * power ? 2 * power : power;
}

static void length_label(char *label, size_t size, double length) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{1e3, "km"}, {1, "m"}, {1e-2, "cm"}, {1e-3, "mm"}, {0, "\xc2\xb5m"}};
  int i = 0;
  while (length < units[i].unit * 0.999) { // the factor 0.999 allows for rounding errors in the
                                           // powers of ten
    i++;
  }
  double unit = units[i].unit > 0 ? units[i].unit : 1e-6;
  snprintf(label, size, "%.6g %s", length / unit, units[i].name);
}

// A row of the legend. The next entry starts at `left` or ends at `right` (pixels).
typedef struct Row {
  double left, right, baseline, font;
} Row;

static void label_put_text(S2Picture *picture, Row *row, const char *text, uint32_t color) {
  const S2SceneView *view = &picture->scene->view;
  s2_scene_text(picture->scene, s2_view_world(view, s2_vec2(row->left, row->baseline)),
                s2_vec2(0, 0), row->font, S2_TEXT_LEFT, text, text_paint(picture, color));
  row->left += text_width(text, row->font) + 1.6 * row->font;
}

static void put_scale(S2Picture *picture, Row *row) {
  const S2SceneView *view = &picture->scene->view;
  // Choose a round length of about one sixth of the width.
  double length = round_length(0.16 * view->width / view->scale);
  if (!isfinite(length) || !(length > 0)) {
    return;
  }
  char label[32];
  length_label(label, sizeof label, length);
  // Draw the label at the right, and the bar with its ticks to the left of it.
  double middle = row->baseline - 0.33 * row->font, tick = 3 * picture->unit;
  s2_scene_text(picture->scene, s2_view_world(view, s2_vec2(row->right, row->baseline)),
                s2_vec2(0, 0), row->font, S2_TEXT_RIGHT, label,
                text_paint(picture, picture->theme->ink));
  double to = row->right - text_width(label, row->font) - 0.7 * row->font;
  double from = to - length * view->scale;
  S2Paint line = {.stroke = picture->theme->ink, .width = 1.3 * picture->unit};
  for (int i = 0; i < 2; i++) {
    double x = i == 0 ? from : to;
    s2_scene_line(picture->scene, s2_view_world(view, s2_vec2(x, middle - tick)),
                  s2_view_world(view, s2_vec2(x, middle + tick)), line);
  }
  s2_scene_line(picture->scene, s2_view_world(view, s2_vec2(from, middle)),
                s2_view_world(view, s2_vec2(to, middle)), line);
  row->right = from - row->font;
}

static void label_put_arrow(S2Picture *picture, Row *row, const char *text, uint32_t color) {
  const S2SceneView *view = &picture->scene->view;
  double length = 1.7 * row->font;
  S2Vec2 tail = s2_vec2(row->left, row->baseline - 0.33 * row->font);
  s2_scene_arrow(picture->scene, s2_view_world(view, tail), s2_vec2(length, 0), 1.6 * picture->unit,
                 (S2Paint){.fill = color});
  row->left += length + 0.5 * row->font;
  label_put_text(picture, row, text, picture->theme->ink);
}

static void put_arrows(S2Picture *picture, Row *row) {
  const S2Moment *moment = picture->moment;
  // Only explain marks that are visible.
  double largest = 0;
  bool sticking = false, sliding = false;
  double threshold = S2_ARROW_THRESHOLD * s2_picture_largest_impulse(moment);
  for (int i = 0; i < moment->contacts.count; i++) {
    const S2MomentContact *contact = &moment->contacts.at[i];
    if (isfinite(contact->normal_impulse)) {
      largest = fmax(largest, contact->normal_impulse);
    }
    if (fabs(contact->tangent_impulse) > threshold) {
      sliding = sliding || contact->sliding;
      sticking = sticking || !contact->sliding;
    }
  }
  char normal[64];
  snprintf(normal, sizeof normal, "normal \xe2\x89\xa4 %.3g N s", largest);
  if (largest > 0) {
    label_put_arrow(picture, row, normal, picture->theme->normal);
  }
  if (sticking) {
    label_put_arrow(picture, row, sliding ? "sticking" : "sticking friction",
                    picture->theme->sticking);
  }
  if (sliding) {
    label_put_arrow(picture, row, "sliding friction", picture->theme->sliding);
  }
}

static void put_time(S2Picture *picture, Row *row, const S2Story *story) {
  double first = story->moments[0].time, last = picture->moment->time;
  char text[64];
  if (!isfinite(first) || !isfinite(last)) {
    return;
  }
  if (story->count > 1) {
    snprintf(text, sizeof text, "t = %.4g \xe2\x80\xa6 %.4g s", first, last);
  } else {
    snprintf(text, sizeof text, "t = %.4g s", last);
  }
  label_put_text(picture, row, text, picture->theme->ink);
}

// Report the number of bodies that are too far away for a fitted view.
static void put_strays(S2Picture *picture, Row *row) {
  const S2SceneView *view = &picture->scene->view;
  double bottom = view->lo.y + view->bottom / view->scale;
  double top = view->hi.y - view->top / view->scale;
  int count = 0;
  for (int i = 0; i < picture->moment->bodies.count; i++) {
    const S2MomentBody *body = &picture->moment->bodies.at[i];
    bool inside = body->q[1] >= view->lo.x && body->q[1] <= view->hi.x && body->q[2] >= bottom &&
                  body->q[2] <= top;
    count += body->type != S2_STATIC && body->enabled && !inside;
  }
  if (count > 0 && picture->options->fit && picture->options->follow.index == 0) {
    char text[48];
    snprintf(text, sizeof text, "%d %s out of view", count, count == 1 ? "body" : "bodies");
    label_put_text(picture, row, text, picture->theme->ink);
  }
}

void s2_picture_legend(S2Picture *picture, const S2Story *story) {
  const S2SceneView *view = &picture->scene->view;
  // Draw the title above the picture, and one or two rows of text below it.
  if (view->top > 0) {
    draw_title(picture);
  }
  if (view->rows == 0) {
    return;
  }
  double font = FONT_SIZE * picture->unit, margin = font, height = 21 * picture->unit;
  clear_strip(picture, view->height - view->bottom, view->height);
  Row row = {margin, view->width - margin, view->height - view->bottom + 0.82 * height + 0.1 * font,
             font};
  // Add the scale, the time and the number of bodies outside the view, from right to left.
  put_scale(picture, &row);
  put_time(picture, &row, story);
  put_strays(picture, &row);
  if (picture->options->contacts) {
    if (view->rows > 1) {
      row = (Row){margin, view->width - margin, row.baseline + height, font};
    }
    put_arrows(picture, &row);
  }
}
