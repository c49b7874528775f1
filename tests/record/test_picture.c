// Pictures: well-formed, with the right contents.
#include "files.h"

#include "record/draw/picture.h"
#include "record/draw/svg.h"
#include "record/draw/view.h"
#include "record/record.h"

// ---- SVG --------------------------------------------------------------------------------------

// Numbers inside attributes: all are finite, and none has a form that a renderer may refuse.
static void assert_sane_numbers(const char *svg) {
  bool quoted = false;
  for (const char *at = svg; *at != '\0'; at++) {
    quoted = quoted != (*at == '"');
    if (quoted && strchr("-0123456789", *at) != NULL && strchr("\" MLAZ", at[-1]) != NULL) {
      char *end = NULL;
      double value = strtod(at, &end);
      assert_true(fabs(value) < 1e6);
      at = end - 1;
    }
  }
  assert_null(strstr(svg, "nan"));
  assert_null(strstr(svg, "inf"));
}

// The caller frees it.
static char *svg_of(const S2Moment *moment, const S2DrawOptions *options) {
  S2Scene scene = {0};
  must(s2_picture_build(&scene, moment, options));
  S2Output output;
  must(s2_output_open(&output, in_directory("moment.svg")));
  s2_svg_write(&output, &scene);
  must(s2_output_close(&output));
  s2_scene_free(&scene);
  size_t size = 0;
  char *svg = read_all(in_directory("moment.svg"), &size);
  assert_int_equal(strlen(svg), size);
  assert_well_formed(svg);
  assert_sane_numbers(svg);
  return svg;
}

static void test_svg_content(void **state) {
  (void)state;
  S2World *world = small_world();
  S2DrawOptions options = s2_draw_options();
  options.names = true;
  options.contacts = false;
  options.joints = false;
  must(s2_world_draw(world, in_directory("small.svg"), &options));
  size_t size = 0;
  char *svg = read_all(in_directory("small.svg"), &size);
  assert_well_formed(svg);
  assert_sane_numbers(svg);
  // Two discs, a centre dot for each of three moving bodies; floor, box, three marks, the strip of
  // the legend and a scale bar of three lines.
  assert_int_equal(occurrences(svg, "<circle"), 5);
  assert_int_equal(occurrences(svg, "<path"), 2 + 3 + 1 + 3);
  // Time, scale and three names.
  assert_int_equal(occurrences(svg, "<text"), 5);
  assert_int_equal(occurrences(svg, ">a \"round\", &lt;thing&gt; &amp; co</text>"), 1);
  assert_int_equal(occurrences(svg, ">t = 0 s</text>"), 1);
  assert_int_equal(occurrences(svg, "width=\"800\""), 2);
  s2_memory_free(svg);

  options.joints = true;
  must(s2_world_draw(world, in_directory("small.svg"), &options));
  svg = read_all(in_directory("small.svg"), &size);
  assert_int_equal(occurrences(svg, "<circle"), 6);           // the pivot
  assert_int_equal(occurrences(svg, "<path"), 2 + 3 + 4 + 1); // and the arm to it
  s2_memory_free(svg);
  s2_world_destroy(world);
}

static void test_svg_kinds_of_bodies(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  S2BodyId box = add_box(world, named(at(0, 0), "\xc3\xa9t\xc3\xa9 \xff\x01"), 1, 1);
  S2Moment moment = {0};
  S2DrawOptions options = s2_draw_options();
  options.names = true;
  must(s2_moment_capture(&moment, world));
  char *svg = svg_of(&moment, &options);
  assert_null(strstr(svg, "stroke-dasharray"));
  // Bytes that are not text are replaced.
  assert_non_null(strstr(svg, ">\xc3\xa9t\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd</text>"));
  s2_memory_free(svg);

  moment.bodies.at[0].sensor = true;
  svg = svg_of(&moment, &options);
  assert_int_equal(occurrences(svg, "stroke-dasharray"), 1);
  s2_memory_free(svg);

  moment.bodies.at[0].sensor = false;
  moment.bodies.at[0].color = 0x12345680;
  svg = svg_of(&moment, &options);
  assert_non_null(strstr(svg, "fill=\"#123456\" fill-opacity=\"0.5\""));
  s2_memory_free(svg);
  s2_moment_free(&moment);
  must(s2_body_destroy(world, box));
  s2_world_destroy(world);
}

// Arrows: length in proportion to the impulse, on the carried body, and the friction's colour shows
// whether it slides.
static void test_svg_contacts(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  add_box(world, fixed_at(0, -0.5), 20, 1);
  add_box(world, at(0, 0.5), 1, 1);
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  const S2MomentContact contacts[3] = {
      {.a = 0,
       .b = 1,
       .point = {-0.5, 0},
       .normal = {0, -1},
       .normal_impulse = 4,
       .tangent_impulse = 2},
      {.a = 1,
       .b = 0,
       .point = {0.5, 0},
       .normal = {0, 1},
       .normal_impulse = 2,
       .tangent_impulse = 1,
       .sliding = true},
      {.a = 1, .b = 0, .point = {0, 0}, .normal = {0, 1}},
  };
  s2_array_reserve(moment.contacts, 3);
  memcpy(moment.contacts.at, contacts, sizeof contacts);
  moment.contacts.count = 3;

  S2Scene scene = {0};
  S2DrawOptions options = s2_draw_options();
  must(s2_picture_build(&scene, &moment, &options));
  S2Vec2 arrows[4];
  uint32_t colors[4];
  int count = 0;
  for (int i = 0; i < scene.primitives.count; i++) {
    if (scene.primitives.at[i].type == S2_PRIMITIVE_ARROW) {
      if (count >= 4) {
        count++; // those of the legend
        continue;
      }
      colors[count] = scene.primitives.at[i].paint.fill;
      arrows[count++] = scene.primitives.at[i].offset;
    }
  }
  assert_int_equal(count, 4 + 3); // two normal, sticking, sliding; the legend of the three
  s2_scene_free(&scene);
  assert_true(colors[0] == colors[1] && colors[0] != colors[2] && colors[0] != colors[3] &&
              colors[2] != colors[3]);
  double full = arrows[0].y; // normal impulses first, all upwards: the floor pushes the box
  assert_true(full > 20);
  assert_true(fabs(arrows[1].y - (0.5 * full)) < 1e-9 * full);
  // On a, tangential impulses act along the left-turned normal: (1, 0) for the first contact, and
  // the opposite on b.
  assert_true(fabs(arrows[2].x - (-0.5 * full)) < 1e-9 * full);
  assert_true(fabs(arrows[3].x - (-0.25 * full)) < 1e-9 * full);

  char *svg = svg_of(&moment, &options);
  assert_int_equal(occurrences(svg, "sliding friction"), 1);
  assert_int_equal(occurrences(svg, ">sticking</text>"), 1);
  assert_int_equal(occurrences(svg, "4 N s</text>"), 1);
  s2_memory_free(svg);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

static void test_svg_view(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  add_box(world, named(fixed_at(0, -5e3), "land"), 1e5, 1e4);
  add_disc(world, named(fixed_at(0, -1e6), "planet"), 1e6);
  add_disc(world, at(3, 0.5), 0.5);
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  S2DrawOptions options = s2_draw_options();
  S2SceneView view;
  must(s2_view_of(&moment, &options, &view));
  assert_true(view.hi.x - view.lo.x < 8); // the disc, 1 m wide, is large enough to be seen
  assert_true(view.lo.x < 2.5 && view.hi.x > 3.5 && view.lo.y < 0 && view.hi.y > 1);
  s2_memory_free(svg_of(&moment, &options));

  options.fit = false;
  options.lo = s2_vec2(-4e4, -2e4);
  options.hi = s2_vec2(4e4, 2e4);
  options.width = 400;
  must(s2_view_of(&moment, &options, &view));
  assert_int_equal(view.height - view.bottom, 200);
  assert_true(fabs(view.lo.x - (-4e4)) < 1e-6);
  s2_memory_free(svg_of(&moment, &options));
  options.hi.y = options.lo.y;
  S2Status status = s2_view_of(&moment, &options, &view);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "view of a picture"));
  options.width = 0;
  assert_int_equal(s2_view_of(&moment, &options, &view).code, S2_INVALID);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// A few bodies that fell over the edge do not shrink the rest; the picture reports that they are
// missing.
static void test_svg_strays(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  for (int i = 0; i < 20; i++) {
    add_disc(world, at(i % 5, i / 5), 0.5);
  }
  S2BodyId stray = add_disc(world, at(3, -900), 0.5);
  S2Moment moment = {0};
  S2DrawOptions options = s2_draw_options();
  must(s2_moment_capture(&moment, world));
  char *svg = svg_of(&moment, &options);
  assert_int_equal(occurrences(svg, ">1 body out of view</text>"), 1);
  s2_memory_free(svg);
  S2SceneView view;
  must(s2_view_of(&moment, &options, &view));
  assert_true(view.lo.x < -0.5 && view.hi.x > 4.5 && view.hi.x - view.lo.x < 10);
  assert_true(view.lo.y < -0.5 && view.hi.y > 3.5 && view.hi.y - view.lo.y < 10);

  must(s2_body_set(world, stray, S2_BODY_Y, -20));
  must(s2_moment_capture(&moment, world));
  svg = svg_of(&moment, &options);
  assert_int_equal(occurrences(svg, "out of view"), 0); // near enough to be included
  s2_memory_free(svg);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// A gap between anchors is an error, marked in red, where the joint is rigid; compliant joints
// yield.
static void test_svg_compliant_hinges(void **state) {
  (void)state;
  for (int compliant = 0; compliant < 2; compliant++) {
    S2World *world = world_new(-10, 1.0 / 120);
    S2BodyId bar = add_box(world, at(0.5, 0), 1, 0.1);
    S2JointDef def = hinge_def(bar, no_body, 0, 0);
    def.compliance.linear = compliant ? 1e-2 : 0;
    S2JointId hinge;
    must(s2_joint_create(world, &def, &hinge));
    must(s2_body_set_q(world, bar, (const double[3]){0, 0.7, 0.3}));
    S2Moment moment = {0};
    must(s2_moment_capture(&moment, world));
    assert_true(moment.joints.at[0].compliant == (compliant == 1));
    S2DrawOptions options = s2_draw_options();
    options.joints = true;
    char *svg = svg_of(&moment, &options);
    assert_int_equal(occurrences(svg, "#c4263a") > 0, !compliant);
    s2_memory_free(svg);
    s2_moment_free(&moment);
    s2_world_destroy(world);
  }
}

static void test_svg_joints(void **state) {
  (void)state;
  S2World *world = world_new(0, 0.01);
  add_all_joints(world);
  S2DrawOptions options = s2_draw_options();
  S2Moment moment = {0};
  options.joints = false;
  must(s2_moment_capture(&moment, world));
  char *without = svg_of(&moment, &options);
  options.joints = true;
  char *with = svg_of(&moment, &options);
  assert_well_formed(with);
  // Two ends of a distance, spring, rope and mouse; rings of a hinge, two axles, lock and wheel;
  // two more for the dots in those of a weld and a slider.
  assert_int_equal(occurrences(with, "<circle") - occurrences(without, "<circle"), 4 * 2 + 5 + 4);
  s2_memory_free(with);
  s2_memory_free(without);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

static void test_svg_numbers_that_are_none(void **state) {
  (void)state;
  S2World *world = small_world();
  add_all_joints(world);
  must(s2_world_step(world));
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  assert_true(moment.contacts.count > 1);
  moment.contacts.at[0].normal = s2_vec2(0.6, 0.8);
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e15, 1e-300};
  S2DrawOptions options = s2_draw_options();
  options.names = true;
  for (int i = 0; i < 6; i++) {
    moment.time = bad[i];
    for (int k = 0; k < 3; k++) {
      double kept = moment.bodies.at[1].q[k];
      moment.bodies.at[1].q[k] = bad[i];
      for (int j = 0; j < moment.joints.count; j++) {
        moment.joints.at[j].anchor_b.x = bad[i];
      }
      moment.contacts.at[0].normal_impulse = bad[i];
      moment.contacts.at[0].tangent_impulse = bad[(i + 1) % 6];
      s2_memory_free(svg_of(&moment, &options));
      moment.bodies.at[1].q[k] = kept;
    }
  }
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// A room of four walls, one body: a body that moves in its middle is shown with the walls, unless
// they are far away.
static S2BodyId add_room(S2World *world, double half) {
  const S2Vec2 corners[] = {{-half, -half}, {half, -half}, {half, half}, {-half, half}};
  S2Vec2 ends[4][2];
  S2ShapeDef walls[4];
  for (int i = 0; i < 4; i++) {
    ends[i][0] = corners[i];
    ends[i][1] = corners[(i + 1) % 4];
    walls[i] = (S2ShapeDef){.vertices = ends[i],
                            .count = 2,
                            .friction = (double)NAN,
                            .restitution = (double)NAN,
                            .density = (double)NAN};
  }
  S2BodyDef def = fixed_at(0, 0);
  def.shapes = walls;
  def.shape_count = 4;
  S2BodyId room;
  must(s2_body_create(world, &def, &room));
  return room;
}

static void test_svg_room(void **state) {
  (void)state;
  const struct {
    double half;
    bool shown;
  } rooms[] = {{4, true}, {20, false}};
  for (int i = 0; i < 2; i++) {
    S2World *world = world_new(0, 1.0 / 120);
    add_room(world, rooms[i].half);
    add_disc(world, at(-1.5, -1), 0.5);
    add_disc(world, at(1.5, 1), 0.5);
    S2Moment moment = {0};
    must(s2_moment_capture(&moment, world));
    S2DrawOptions options = s2_draw_options();
    S2SceneView view;
    must(s2_view_of(&moment, &options, &view));
    double half = rooms[i].half;
    assert_int_equal(view.lo.x < -half && view.lo.y < -half && view.hi.x > half && view.hi.y > half,
                     rooms[i].shown);
    s2_moment_free(&moment);
    s2_world_destroy(world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_svg_content),
      cmocka_unit_test(test_svg_kinds_of_bodies),
      cmocka_unit_test(test_svg_contacts),
      cmocka_unit_test(test_svg_view),
      cmocka_unit_test(test_svg_strays),
      cmocka_unit_test(test_svg_joints),
      cmocka_unit_test(test_svg_compliant_hinges),
      cmocka_unit_test(test_svg_numbers_that_are_none),
      cmocka_unit_test(test_svg_room),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
