// The canvas of plots: the file contains the drawing, or a message gives the reason why there is
// none.
#include "files.h"

#include "record/draw/canvas.h"

#ifdef S2_HAVE_CAIRO

#include <cairo.h>

enum { WIDTH = 40, HEIGHT = 20 };

#define RED   0xff0000ffu
#define WHITE 0xffffffffu

static S2Canvas *open_white(double scale) {
  S2Canvas *canvas = NULL;
  must(s2_canvas_open(&canvas, S2_CANVAS_PLOT, WIDTH, HEIGHT, scale));
  const double sheet[] = {0, 0, WIDTH, 0, WIDTH, HEIGHT, 0, HEIGHT};
  s2_canvas_line(canvas, sheet, 4, true);
  s2_canvas_paint(canvas, &(S2CanvasPaint){.fill = WHITE});
  return canvas;
}

// Saves, frees and reads back; the caller destroys the result.
static cairo_surface_t *picture_of(S2Canvas *canvas) {
  const char *path = in_directory("canvas.png");
  must(s2_canvas_save(canvas, path));
  s2_canvas_free(canvas);
  cairo_surface_t *surface = cairo_image_surface_create_from_png(path);
  assert_int_equal(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  return surface;
}

static uint32_t color_at(cairo_surface_t *surface, int x, int y) {
  const unsigned char *data = cairo_image_surface_get_data(surface);
  uint32_t pixel;
  memcpy(&pixel, data + y * cairo_image_surface_get_stride(surface) + 4 * x, sizeof pixel);
  return pixel << 8 | 0xff;
}

static int count_dark(cairo_surface_t *surface, int left, int top, int right, int bottom) {
  int count = 0;
  for (int y = top; y < bottom; y++) {
    for (int x = left; x < right; x++) {
      count += (color_at(surface, x, y) >> 8 & 0xff) < 0x80;
    }
  }
  return count;
}

static void test_areas_lines_and_discs(void **state) {
  (void)state;
  S2Canvas *canvas = open_white(2);
  s2_canvas_disc(canvas, 10, 10, 5);
  s2_canvas_paint(canvas, &(S2CanvasPaint){.fill = RED});
  const double line[] = {20, 10, 40, 10}, dash[] = {4, 6};
  s2_canvas_line(canvas, line, 2, false);
  s2_canvas_paint(
      canvas, &(S2CanvasPaint){.stroke = 0x0000ffff, .width = 2, .dash = dash, .dash_count = 2});
  cairo_surface_t *picture = picture_of(canvas);
  assert_int_equal(cairo_image_surface_get_width(picture), 2 * WIDTH);
  assert_int_equal(cairo_image_surface_get_height(picture), 2 * HEIGHT);
  assert_int_equal(color_at(picture, 20, 20), RED);
  assert_int_equal(color_at(picture, 28, 20), RED);
  assert_int_equal(color_at(picture, 32, 20), WHITE);
  assert_int_equal(color_at(picture, 44, 20), 0x0000ffff);
  assert_int_equal(color_at(picture, 54, 20), WHITE); // between dashes
  assert_int_equal(color_at(picture, 64, 20), 0x0000ffff);
  assert_int_equal(color_at(picture, 44, 16), WHITE);
  cairo_surface_destroy(picture);
}

static void test_nothing_is_drawn_beyond_a_clip(void **state) {
  (void)state;
  S2Canvas *canvas = open_white(1);
  const double all[] = {0, 0, WIDTH, 0, WIDTH, HEIGHT, 0, HEIGHT};
  s2_canvas_clip(canvas, 10, 5, 10, 10);
  s2_canvas_line(canvas, all, 4, true);
  s2_canvas_paint(canvas, &(S2CanvasPaint){.fill = RED});
  s2_canvas_unclip(canvas);
  s2_canvas_disc(canvas, 35, 10, 2);
  s2_canvas_paint(canvas, &(S2CanvasPaint){.fill = RED});
  cairo_surface_t *picture = picture_of(canvas);
  assert_int_equal(color_at(picture, 15, 10), RED);
  assert_int_equal(color_at(picture, 8, 10), WHITE);
  assert_int_equal(color_at(picture, 15, 3), WHITE);
  assert_int_equal(color_at(picture, 35, 10), RED);
  cairo_surface_destroy(picture);
}

// Words end at their place when aligned right, begin there when aligned left, and may be vertical.
static void test_words_are_placed(void **state) {
  (void)state;
  S2CanvasText how = {.x = 20, .y = 14, .size = 10, .fill = 0x000000ff, .align = S2_TEXT_RIGHT};
  S2Canvas *canvas = open_white(1);
  s2_canvas_text(canvas, &how, "HHH");
  cairo_surface_t *picture = picture_of(canvas);
  assert_true(count_dark(picture, 0, 0, 20, HEIGHT) > 10);
  assert_int_equal(count_dark(picture, 21, 0, WIDTH, HEIGHT), 0);
  cairo_surface_destroy(picture);

  how.align = S2_TEXT_LEFT;
  canvas = open_white(1);
  s2_canvas_text(canvas, &how, "HHH");
  picture = picture_of(canvas);
  assert_int_equal(count_dark(picture, 0, 0, 19, HEIGHT), 0);
  assert_true(count_dark(picture, 20, 0, WIDTH, HEIGHT) > 10);
  cairo_surface_destroy(picture);

  how.align = S2_TEXT_CENTRE;
  how.y = 10;
  how.degrees = -90;
  canvas = open_white(1);
  s2_canvas_text(canvas, &how, "HH");
  picture = picture_of(canvas);
  assert_true(count_dark(picture, 10, 0, 21, HEIGHT) > 10); // left of its base line
  assert_int_equal(count_dark(picture, 22, 0, WIDTH, HEIGHT), 0);
  cairo_surface_destroy(picture);
}

static void test_sizes_and_paths_that_cannot_be(void **state) {
  (void)state;
  S2Canvas *canvas = NULL;
  S2Status status = s2_canvas_open(&canvas, S2_CANVAS_PLOT, 1e5, 10, 1);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message,
                      "a picture of 100000 x 10 pixels: each side must be from 1 to 16384 pixels");
  assert_int_equal(s2_canvas_open(&canvas, S2_CANVAS_PLOT, (double)NAN, 10, 1).code, S2_INVALID);
  assert_int_equal(s2_canvas_open(&canvas, S2_CANVAS_PLOT, 0, 10, 1).code, S2_INVALID);
  assert_null(canvas);
  canvas = open_white(1);
  status = s2_canvas_save(canvas, "/missing/canvas.png");
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "'/missing/canvas.png': No such file"));
  s2_canvas_free(canvas);
  s2_canvas_free(NULL);
}

#else

static void test_without_cairo_the_message_says_so(void **state) {
  (void)state;
  S2Canvas *canvas = NULL;
  S2Status status = s2_canvas_open(&canvas, S2_CANVAS_PLOT, 10, 10, 1);
  assert_int_equal(status.code, S2_UNAVAILABLE);
  assert_non_null(strstr(status.message, "built without cairo"));
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef S2_HAVE_CAIRO
      cmocka_unit_test(test_areas_lines_and_discs),
      cmocka_unit_test(test_nothing_is_drawn_beyond_a_clip),
      cmocka_unit_test(test_words_are_placed),
      cmocka_unit_test(test_sizes_and_paths_that_cannot_be),
#else
      cmocka_unit_test(test_without_cairo_the_message_says_so),
#endif
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
