// Trajectory files: written data read back the same.
#include "files.h"

#include "record/draw/picture.h"
#include "record/record.h"
#include "record/s2d/replay.h"
#include "record/s2d/s2d_write.h"

// ---- CSV --------------------------------------------------------------------------------------

// Takes one field off the front of a line, unquoted.
static void csv_field(const char **at, char *field) {
  bool quoted = **at == '"';
  *at += quoted;
  while (quoted || (**at != ',' && **at != '\n')) {
    assert_int_not_equal(**at, '\0');
    if (quoted && **at == '"' && *++*at != '"') {
      break;
    }
    *field++ = *(*at)++;
  }
  *field = '\0';
  assert_true(**at == ',' || **at == '\n');
  *at += 1;
}

static void csv_number(const char **at, double expected) {
  char field[64];
  csv_field(at, field);
  char *end = NULL;
  double value = strtod(field, &end);
  assert_int_equal(*end, '\0');
  assert_memory_equal(&value, &expected, sizeof value); // bit for bit
}

static void test_csv_round_trip(void **state) {
  (void)state;
  enum { FRAMES = 12, BODIES = 4 };
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("run.csv"), &recorder));
  S2Moment moments[FRAMES] = {0};
  for (int i = 0; i < FRAMES; i++) {
    must(s2_world_step(world));
    must(s2_recorder_frame(recorder, world));
    must(s2_moment_capture(&moments[i], world));
  }
  must(s2_recorder_close(recorder));

  size_t size = 0;
  char *text = read_all(in_directory("run.csv"), &size);
  const char *header = "time_s,body,name,angle_rad,x_m,y_m,omega_rad_s,vx_m_s,vy_m_s\n";
  assert_memory_equal(text, header, strlen(header));
  const char *at = text + strlen(header);
  for (int i = 0; i < FRAMES; i++) {
    assert_int_equal(moments[i].bodies.count, BODIES);
    for (int k = 0; k < BODIES; k++) {
      const S2MomentBody *body = &moments[i].bodies.at[k];
      char name[2 * S2_NAME_SIZE];
      csv_number(&at, moments[i].time);
      csv_number(&at, body->id.serial);
      csv_field(&at, name);
      assert_string_equal(name, body->name);
      for (int n = 0; n < 3; n++) {
        csv_number(&at, body->q[n]);
      }
      for (int n = 0; n < 3; n++) {
        csv_number(&at, body->v[n]);
      }
    }
    s2_moment_free(&moments[i]);
  }
  assert_int_equal(*at, '\0');
  s2_memory_free(text);
  s2_world_destroy(world);
}

// ---- s2d --------------------------------------------------------------------------------------

#define GRAIN 0x1p-12 // m; a 1024th of the smallest body, whose radius is 0.25 m, rounded down

static void assert_near_vec(S2Vec2 a, S2Vec2 b, double tolerance) {
  assert_true(fabs(a.x - b.x) <= tolerance && fabs(a.y - b.y) <= tolerance);
}

static void assert_near_impulse(double a, double b) {
  assert_true(fabs(a - b) <= 1e-7 + 0x1p-11 * fabs(b));
}

// Exact fields of the file are the same bit for bit, rounded ones within the grain.
static void assert_same_moment(const S2Moment *a, const S2Moment *b) {
  assert_true(a->time == b->time && a->step == b->step && a->hash == b->hash);
  assert_memory_equal(&a->kinetic, &b->kinetic, sizeof a->kinetic);
  assert_memory_equal(&a->potential, &b->potential, sizeof a->potential);
  assert_memory_equal(a->momentum, b->momentum, sizeof a->momentum);
  assert_memory_equal(&a->residual, &b->residual, sizeof a->residual);
  assert_true(a->iterations == b->iterations);
  assert_true(a->settings.dt == b->settings.dt && a->settings.solver == b->settings.solver);
  assert_true(a->settings.gravity.x == b->settings.gravity.x &&
              a->settings.gravity.y == b->settings.gravity.y &&
              a->settings.max_iterations == b->settings.max_iterations &&
              a->settings.tolerance == b->settings.tolerance &&
              a->settings.contact_margin == b->settings.contact_margin &&
              a->settings.strict == b->settings.strict &&
              a->settings.stepping == b->settings.stepping &&
              a->settings.alpha == b->settings.alpha && a->settings.beta == b->settings.beta &&
              a->settings.formulation == b->settings.formulation &&
              a->settings.elasticity == b->settings.elasticity &&
              a->settings.geometric_stiffness == b->settings.geometric_stiffness);
  assert_int_equal(a->bodies.count, b->bodies.count);
  for (int i = 0; i < a->bodies.count; i++) {
    const S2MomentBody *p = &a->bodies.at[i], *q = &b->bodies.at[i];
    assert_true(p->id.index == q->id.index && p->id.serial == q->id.serial);
    assert_true(p->type == q->type && p->sensor == q->sensor && p->enabled == q->enabled &&
                p->color == q->color && p->first_shape == q->first_shape &&
                p->shape_count == q->shape_count);
    assert_memory_equal(&p->mass, &q->mass, sizeof p->mass);
    assert_memory_equal(&p->inertia, &q->inertia, sizeof p->inertia);
    assert_memory_equal(p->q, q->q, sizeof p->q);
    assert_memory_equal(p->v, q->v, sizeof p->v);
    assert_string_equal(p->name, q->name);
  }
  assert_int_equal(a->shapes.count, b->shapes.count);
  for (int i = 0; i < a->shapes.count; i++) {
    const S2MomentShape *p = &a->shapes.at[i], *q = &b->shapes.at[i];
    assert_true(p->first_vertex == q->first_vertex && p->count == q->count &&
                p->radius == q->radius && p->has_previous == q->has_previous &&
                p->has_next == q->has_next && p->previous.x == q->previous.x &&
                p->next.y == q->next.y);
  }
  assert_int_equal(a->vertices.count, b->vertices.count);
  assert_memory_equal(a->vertices.at, b->vertices.at, sizeof(S2Vec2) * (size_t)a->vertices.count);
  assert_int_equal(a->contacts.count, b->contacts.count);
  for (int i = 0; i < a->contacts.count; i++) {
    const S2MomentContact *p = &a->contacts.at[i], *q = &b->contacts.at[i];
    assert_true(p->a == q->a && p->b == q->b && p->sliding == q->sliding &&
                p->feature == q->feature);
    assert_near_vec(p->point, q->point, GRAIN);
    assert_near_vec(p->normal, q->normal, 1e-4);
    assert_true(fabs(p->gap - q->gap) <= GRAIN / 64);
    assert_near_impulse(p->normal_impulse, q->normal_impulse);
    assert_near_impulse(p->tangent_impulse, q->tangent_impulse);
  }
  assert_int_equal(a->joints.count, b->joints.count);
  for (int i = 0; i < a->joints.count; i++) {
    const S2MomentJoint *p = &a->joints.at[i], *q = &b->joints.at[i];
    assert_true(p->id.serial == q->id.serial && p->type == q->type && p->a == q->a &&
                p->b == q->b && p->enabled == q->enabled && p->collide == q->collide &&
                p->compliant == q->compliant);
    assert_near_vec(p->anchor_a, q->anchor_a, GRAIN);
    assert_near_vec(p->anchor_b, q->anchor_b, GRAIN * 1.1);
    assert_near_impulse(p->impulse.x, q->impulse.x);
    assert_near_impulse(p->impulse.y, q->impulse.y);
    assert_true(fabs(p->angle - q->angle) <= 1e-6);
    assert_true(fabs(p->speed - q->speed) <= 1e-6 + 1e-3 * fabs(q->speed));
    assert_string_equal(p->name, q->name);
  }
}

static void test_s2d_round_trip(void **state) {
  (void)state;
  enum { FRAMES = 30 };
  S2World *world = small_world();
  add_all_joints(world);
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("run.s2d"), &recorder));
  S2Moment moments[FRAMES] = {0};
  S2BodyId guest = {0, 0};
  int contacts = 0;
  for (int i = 0; i < FRAMES; i++) {
    if (i == 10) {
      guest = add_disc(world, named(at(6, 3), "guest"), 0.3);
      must(s2_body_set(world, guest, S2_BODY_COLOR, (double)0x11223344u));
    } else if (i == 15) {
      S2WorldDef def = *s2_world_settings(world);
      def.gravity = s2_vec2(1, -3);
      def.alpha = 0.75;
      def.beta = 0.875;
      def.formulation = S2_FORM_VARIATION;
      def.elasticity = S2_AS_STIFFNESS;
      def.geometric_stiffness = S2_GEOMETRIC_PSD;
      must(s2_world_configure(world, &def));
    } else if (i == 20) {
      must(s2_body_destroy(world, guest));
    }
    must(s2_world_step(world));
    must(s2_recorder_frame(recorder, world));
    must(s2_moment_capture(&moments[i], world));
    contacts += moments[i].contacts.count;
  }
  assert_true(contacts > 0);
  must(s2_recorder_close(recorder));

  S2Replay *replay = NULL;
  must(s2_replay_open(in_directory("run.s2d"), &replay));
  assert_int_equal(s2_replay_frame_count(replay), FRAMES);
  assert_true(s2_replay_complete(replay));
  const S2Moment *moment = NULL;
  for (int n = 0; n < FRAMES; n++) {
    int i = 7 * n % FRAMES; // every frame, forwards and backwards across the changes of the scene
    must(s2_replay_frame(replay, (uint64_t)i, &moment));
    assert_same_moment(moment, &moments[i]);
  }
  S2Status status = s2_replay_frame(replay, FRAMES, &moment);
  assert_int_equal(status.code, S2_INVALID);
  assert_null(moment);
  assert_non_null(strstr(status.message, "no frame 30"));
  s2_replay_close(replay);
  for (int i = 0; i < FRAMES; i++) {
    s2_moment_free(&moments[i]);
  }
  s2_world_destroy(world);
}

// All settings of a world are in the file. A new setting changes the size: record it, and set it
// here to a value other than its default. The exceptions are `profile` and `threads`, which change
// no number of the run, `ncp_kappa`, `ncp_undercut`, `budget`, and the script's solver behind the
// solver `program`.
static void test_s2d_all_settings(void **state) {
  (void)state;
  assert_int_equal(sizeof(S2WorldDef), 176);
  S2World *world = small_world();
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  S2WorldDef def;
  memset(&def, 0, sizeof def); // padding as well
  def.gravity = s2_vec2(0.5, -3);
  def.dt = 0.015625;
  def.solver = S2_SOLVER_PCG;
  def.contact = S2_FRICTIONLESS;
  def.stepping = S2_BISECT;
  def.restitution_model = S2_REFLECTIONS;
  def.stabilization = S2_POST_ASSEMBLY;
  def.tolerance = 1e-7;
  def.max_iterations = 77;
  def.contact_margin = 0.03;
  def.combine_friction = S2_COMBINE_MAX;
  def.combine_restitution = S2_COMBINE_MULTIPLY;
  def.linear_solver = S2_LINEAR_MINRES;
  def.substeps = 5;
  def.alpha = 0.75;
  def.beta = 0.625;
  def.formulation = S2_FORM_VARIATION;
  def.elasticity = S2_AS_STIFFNESS;
  def.geometric_stiffness = S2_GEOMETRIC_PSD;
  def.stepping_partial = true;
  def.strict = true;
  def.gradient = S2_GRADIENT_SMOOTH;
  def.smoothing = 1e-3;
  moment.settings = def;
  S2Output output;
  S2S2dWriter writer = {0};
  must(s2_output_open(&output, in_directory("settings.s2d")));
  s2_s2d_start(&writer, &output, NULL);
  must(s2_s2d_frame(&writer, &output, &moment));
  must(s2_output_close(&output));
  s2_s2d_free(&writer);
  S2Replay *replay = NULL;
  const S2Moment *read = NULL;
  must(s2_replay_open(in_directory("settings.s2d"), &replay));
  must(s2_replay_frame(replay, 0, &read));
  assert_memory_equal(&read->settings, &def, sizeof def);
  s2_replay_close(replay);

  s2_moment_free(&moment);
  s2_world_destroy(world);
}

static void write_moments(const char *path, const S2Moment *moments, int count) {
  S2Output output;
  S2S2dWriter writer = {0};
  must(s2_output_open(&output, path));
  s2_s2d_start(&writer, &output, NULL);
  for (int i = 0; i < count; i++) {
    must(s2_s2d_frame(&writer, &output, &moments[i]));
  }
  s2_s2d_end(&writer, &output);
  must(s2_output_close(&output));
  s2_s2d_free(&writer);
}

// Sets the flag of midpoint steps in the settings of the scene, as earlier versions wrote it, and
// the checksum of its chunk.
static void flag_midpoint(const char *path) {
  enum { FLAGS = 40 + 7 * 4 }; // after dt, gravity, two lengths, and seven choices
  static unsigned char bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  assert_int_equal(fclose(file), 0);
  for (size_t at = S2_S2D_FILE_HEADER; at < size;) {
    unsigned char *contents = bytes + at + S2_S2D_CHUNK_HEADER;
    uint32_t length = s2_s2d_get32(bytes + at + 4);
    if (s2_s2d_get32(bytes + at) == S2_S2D_SCENE) {
      s2_s2d_set32(contents + FLAGS, s2_s2d_get32(contents + FLAGS) | S2_S2D_MIDPOINT);
      uint64_t hash = s2_s2d_hash(S2_S2D_HASH_START, bytes + at, 8);
      s2_s2d_set64(bytes + at + 8, s2_s2d_hash(hash, contents, length));
    }
    at += S2_S2D_CHUNK_HEADER + length;
  }
  file = fopen(path, "wb");
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

// With an index and, cut off before it, without one.
static void test_s2d_midpoint_is_refused(void **state) {
  (void)state;
  S2World *world = small_world();
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  for (int whole = 0; whole < 2; whole++) {
    const char *path = in_directory("midpoint.s2d");
    S2Output output;
    S2S2dWriter writer = {0};
    must(s2_output_open(&output, path));
    s2_s2d_start(&writer, &output, NULL);
    must(s2_s2d_frame(&writer, &output, &moment));
    if (whole == 1) {
      s2_s2d_end(&writer, &output);
    }
    must(s2_output_close(&output));
    s2_s2d_free(&writer);
    S2Replay *replay = NULL;
    must(s2_replay_open(path, &replay));
    assert_true(s2_replay_complete(replay) == (whole == 1));
    s2_replay_close(replay);
    flag_midpoint(path);
    S2Status status = s2_replay_open(path, &replay);
    assert_int_equal(status.code, S2_INVALID);
    assert_non_null(strstr(status.message, "midpoint rule (nonlinear)"));
  }
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// A rope keeps the points over which it runs.
static void test_s2d_ways(void **state) {
  (void)state;
  S2World *world = small_world();
  S2BodyId a = add_box(world, at(4, 5), 1, 1), b = add_box(world, at(7, 5), 1, 1);
  S2JointDef def = joint_def(S2_PULLEY, a, b);
  def.ground_a = s2_vec2(4.125, 9);
  def.ground_b = s2_vec2(7, 8.5);
  S2JointId pulley;
  must(s2_joint_create(world, &def, &pulley));
  S2Moment moment = {0};
  must(s2_moment_capture(&moment, world));
  int last = moment.joints.count - 1;
  write_moments(in_directory("ways.s2d"), &moment, 1);
  S2Replay *replay = NULL;
  const S2Moment *read = NULL;
  must(s2_replay_open(in_directory("ways.s2d"), &replay));
  must(s2_replay_frame(replay, 0, &read));
  assert_int_equal(read->joints.count, last + 1);
  assert_int_equal(read->joints.at[0].ways, 0);
  assert_int_equal(read->joints.at[last].ways, 2);
  assert_memory_equal(read->joints.at[last].way, moment.joints.at[last].way,
                      sizeof read->joints.at[last].way);
  assert_true(read->joints.at[last].way[0].x == 4.125 && read->joints.at[last].way[1].y == 8.5);
  s2_replay_close(replay);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

// Numbers that are not multiples of a grain are stored unchanged.
static void test_s2d_extreme_numbers(void **state) {
  (void)state;
  static const double numbers[] = {NAN, INFINITY, -INFINITY, 1e300, -1e-310, -0.0, 0x1p60};
  enum { NUMBERS = sizeof numbers / sizeof numbers[0], FRAMES = 2 * NUMBERS + 1 };
  S2World *world = small_world();
  S2Moment moments[FRAMES] = {0};
  for (int i = 0; i < FRAMES; i++) {
    must(s2_world_step(world));
    must(s2_moment_capture(&moments[i], world));
    if (i % 2 == 1) { // ordinary frames between them
      double number = numbers[i / 2];
      moments[i].bodies.at[i % 4].q[i % 3] = number;
      moments[i].bodies.at[i % 4].v[i % 3] = number;
      moments[i].contacts.at[0].gap = number;
      moments[i].contacts.at[1].normal_impulse = number;
      moments[i].joints.at[0].speed = number;
      moments[i].time = number;
      moments[i].residual = number;
    }
  }
  write_moments(in_directory("extreme.s2d"), moments, FRAMES);
  S2Replay *replay = NULL;
  const S2Moment *read = NULL;
  must(s2_replay_open(in_directory("extreme.s2d"), &replay));
  for (int i = 0; i < FRAMES; i++) {
    must(s2_replay_frame(replay, (uint64_t)i, &read));
    assert_memory_equal(&read->time, &moments[i].time, sizeof read->time);
    assert_memory_equal(&read->residual, &moments[i].residual, sizeof read->residual);
    for (int k = 0; k < read->bodies.count; k++) {
      assert_memory_equal(read->bodies.at[k].q, moments[i].bodies.at[k].q, 3 * sizeof(double));
      assert_memory_equal(read->bodies.at[k].v, moments[i].bodies.at[k].v, 3 * sizeof(double));
    }
    double gap = read->contacts.at[0].gap, was = moments[i].contacts.at[0].gap;
    assert_true(isnan(was) ? isnan(gap) : gap == was || fabs(gap - was) <= GRAIN / 64);
    double impulse = read->contacts.at[1].normal_impulse;
    was = moments[i].contacts.at[1].normal_impulse;
    assert_true(isnan(was) ? isnan(impulse)
                           : impulse == was || fabs(impulse - was) <= 1e-7 + 0x1p-11 * fabs(was));
  }
  s2_replay_close(replay);
  for (int i = 0; i < FRAMES; i++) {
    s2_moment_free(&moments[i]);
  }
  s2_world_destroy(world);
}

static void test_s2d_channels_and_run(void **state) {
  (void)state;
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  S2Run run = {0};
  s2_run_add(&run, "word", "script.lua");
  s2_run_add(&run, "word", "");
  s2_run_add(&run, "seed", "18446744073709551615");
  must(s2_recorder_open(in_directory("channels.s2d"), &recorder));
  s2_recorder_run(recorder, &run);
  s2_run_free(&run);
  int first = s2_recorder_channel(recorder, "angle of the pole", "rad"), second = -1;
  for (int i = 0; i < 80; i++) {
    if (i == 40) {
      second = s2_recorder_channel(recorder, "thrust", NULL);
    }
    if (i > 0) {
      s2_recorder_set(recorder, first, 1.0 / i);
    }
    if (i > 40) {
      s2_recorder_set(recorder, second, -i);
    }
    must(s2_world_step(world));
    must(s2_recorder_frame(recorder, world));
  }
  must(s2_recorder_close(recorder));
  S2Replay *replay = NULL;
  const S2Moment *moment = NULL;
  must(s2_replay_open(in_directory("channels.s2d"), &replay));
  assert_string_equal(s2_run_get(s2_replay_run(replay), "word", 0), "script.lua");
  assert_string_equal(s2_run_get(s2_replay_run(replay), "word", 1), "");
  assert_null(s2_run_get(s2_replay_run(replay), "word", 2));
  assert_string_equal(s2_run_get(s2_replay_run(replay), "seed", 0), "18446744073709551615");
  for (int n = 0; n < 80; n++) {
    int i = 37 * n % 80;
    must(s2_replay_frame(replay, (uint64_t)i, &moment));
    assert_int_equal(moment->channels.count, i < 40 ? 1 : 2);
    assert_string_equal(moment->channels.at[0].name, "angle of the pole");
    assert_string_equal(moment->channels.at[0].unit, "rad");
    assert_true(i == 0 ? isnan(moment->channels.at[0].value)
                       : moment->channels.at[0].value == 1.0 / i);
    if (i >= 40) {
      assert_string_equal(moment->channels.at[1].unit, "");
      assert_true(i == 40 ? isnan(moment->channels.at[1].value)
                          : moment->channels.at[1].value == -i);
    }
  }
  s2_replay_close(replay);
  s2_world_destroy(world);
}

// The same run gives the same bytes; moving bodies take few, flying ones almost none.
static void test_s2d_sizes(void **state) {
  (void)state;
  enum { FRAMES = 200 };
  size_t sizes[2] = {0};
  unsigned char *bytes[2] = {NULL};
  for (int round = 0; round < 2; round++) {
    S2World *world = small_world();
    for (int i = 0; i < 40; i++) {
      add_disc(world, at(20 + 2 * i, 100), 0.5);
    }
    S2Recorder *recorder = NULL;
    must(s2_recorder_open(in_directory("size.s2d"), &recorder));
    for (int i = 0; i < FRAMES; i++) {
      must(s2_world_step(world));
      must(s2_recorder_frame(recorder, world));
    }
    must(s2_recorder_close(recorder));
    bytes[round] = (unsigned char *)read_all(in_directory("size.s2d"), &sizes[round]);
    s2_world_destroy(world);
  }
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(bytes[0], bytes[1], sizes[0]);
  assert_in_range(sizes[0] / FRAMES / 44, 1, 8);
  s2_memory_free(bytes[0]);
  s2_memory_free(bytes[1]);
}

// A single frame, as the live viewer sends it.
static void test_s2d_in_memory(void **state) {
  (void)state;
  S2World *world = small_world();
  add_all_joints(world);
  S2Moment moment = {0};
  S2S2dBytes bytes = {0};
  S2S2dPast past = {0};
  s2_s2d_put_header(&bytes);
  for (int i = 0; i < 5; i++) {
    must(s2_world_step(world));
    must(s2_moment_capture(&moment, world));
    if (i == 0) {
      must(s2_s2d_put_scene(&bytes, &past, &moment));
    }
    must(s2_s2d_put_frame(&bytes, &past, &moment, true));
  }
  write_all(in_directory("memory.s2d"), bytes.at, bytes.size);
  S2Replay *replay = NULL;
  const S2Moment *read = NULL;
  must(s2_replay_open(in_directory("memory.s2d"), &replay));
  assert_int_equal(s2_replay_frame_count(replay), 5);
  assert_false(s2_replay_complete(replay));
  must(s2_replay_frame(replay, 4, &read));
  assert_same_moment(read, &moment);
  s2_replay_close(replay);
  s2_s2d_bytes_free(&bytes);
  s2_s2d_past_free(&past);
  s2_moment_free(&moment);
  s2_world_destroy(world);
}

static void test_file_in_use(void **state) {
  (void)state;
  S2World *world = small_world();
  S2Recorder *one = NULL, *two = NULL;
  must(s2_recorder_open(in_directory("used.s2d"), &one));
  must(s2_recorder_frame(one, world));
  S2Status status = s2_recorder_open(in_directory("used.s2d"), &two);
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "already being written"));
  assert_null(two);
  must(s2_recorder_close(one));
  S2Replay *replay = NULL;
  must(s2_replay_open(in_directory("used.s2d"), &replay));
  assert_int_equal(s2_replay_frame_count(replay), 1);
  s2_replay_close(replay);
  must(s2_recorder_open(in_directory("used.s2d"), &two));
  must(s2_recorder_close(two));
  s2_world_destroy(world);
}

static void test_steady_recording_leaves_the_heap_alone(void **state) {
  (void)state;
  const char *names[] = {"steady.csv", "steady.s2d", "steady.svg"};
  for (int i = 0; i < 3; i++) {
    S2World *world = small_world();
    S2Recorder *recorder = NULL;
    must(s2_recorder_open(in_directory(names[i]), &recorder));
    must(s2_world_step(world));
    must(s2_recorder_frame(recorder, world));
    uint64_t before = s2_memory_count();
    for (int k = 0; k < 10; k++) {
      must(s2_recorder_frame(recorder, world));
    }
    assert_int_equal(s2_memory_count(), before);
    must(s2_recorder_close(recorder));
    s2_world_destroy(world);
  }
}

// ---- Paths, suffixes, emptiness ---------------------------------------------------------------

static void test_paths(void **state) {
  (void)state;
  S2World *world = small_world();
  S2DrawOptions options = s2_draw_options();
  S2Recorder *recorder = NULL;
  S2Status status = s2_recorder_open(in_directory("no/such/run.csv"), &recorder);
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "no/such/run.csv"));
  assert_non_null(strstr(status.message, "No such file or directory"));
  assert_null(recorder);
  status = s2_world_draw(world, in_directory("no/such/picture.svg"), &options);
  assert_int_equal(status.code, S2_IO);
  assert_non_null(strstr(status.message, "No such file or directory"));

  status = s2_recorder_open("run.cvs", &recorder);
  assert_int_equal(status.code, S2_INVALID);
  assert_string_equal(status.message, "'run.cvs' has an unknown suffix '.cvs' (known: .csv, .npz, "
                                      ".h5, .s2d, .html, .svg, .png, .gif, .mp4)");
  status = s2_world_draw(world, "some.folder/picture", &options);
  assert_int_equal(status.code, S2_INVALID);
  assert_non_null(strstr(status.message, "no suffix"));
  must(s2_recorder_open(in_directory("CAPITALS.CSV"), &recorder));
  must(s2_recorder_close(recorder));
  must(s2_recorder_close(NULL));
  s2_world_destroy(world);
}

// A file that takes no more bytes reports it with the frame that does not fit.
static void test_full_device(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0 || symlink("/dev/full", in_directory("full.s2d")) != 0) {
    skip();
  }
  S2World *world = small_world();
  S2Recorder *recorder = NULL;
  must(s2_recorder_open(in_directory("full.s2d"), &recorder));
  for (int i = 0; i < 2; i++) {
    S2Status status = s2_recorder_frame(recorder, world);
    assert_int_equal(status.code, S2_IO);
    assert_non_null(strstr(status.message, "No space left on device"));
  }
  assert_int_equal(s2_recorder_close(recorder).code, S2_IO);
  s2_world_destroy(world);
}

static void test_nothing_there(void **state) {
  (void)state;
  S2World *world = world_new(0, 1.0 / 120);
  S2DrawOptions options = s2_draw_options();
  must(s2_world_draw(world, in_directory("nothing.svg"), &options));
  static const char *const names[] = {"nothing.csv", "nothing.s2d", "nothing.svg"};
  for (int frames = 0; frames < 2; frames++) {
    for (int i = 0; i < 3; i++) {
      S2Recorder *recorder = NULL;
      must(s2_recorder_open(in_directory(names[i]), &recorder));
      if (frames > 0) {
        must(s2_recorder_frame(recorder, world));
      }
      must(s2_recorder_close(recorder));
    }
    size_t size = 0;
    char *svg = read_all(in_directory("nothing.svg"), &size);
    assert_well_formed(svg);
    assert_int_equal(occurrences(svg, "<text"), 2); // time and scale
    s2_memory_free(svg);
    char *csv = read_all(in_directory("nothing.csv"), &size);
    assert_int_equal(occurrences(csv, "\n"), 1);
    s2_memory_free(csv);
    S2Replay *replay = NULL;
    must(s2_replay_open(in_directory("nothing.s2d"), &replay));
    assert_int_equal(s2_replay_frame_count(replay), frames);
    assert_true(s2_replay_complete(replay));
    s2_replay_close(replay);
  }
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_csv_round_trip),
      cmocka_unit_test(test_s2d_round_trip),
      cmocka_unit_test(test_s2d_all_settings),
      cmocka_unit_test(test_s2d_ways),
      cmocka_unit_test(test_s2d_midpoint_is_refused),
      cmocka_unit_test(test_s2d_extreme_numbers),
      cmocka_unit_test(test_s2d_channels_and_run),
      cmocka_unit_test(test_s2d_sizes),
      cmocka_unit_test(test_s2d_in_memory),
      cmocka_unit_test(test_file_in_use),
      cmocka_unit_test(test_steady_recording_leaves_the_heap_alone),
      cmocka_unit_test(test_paths),
      cmocka_unit_test(test_full_device),
      cmocka_unit_test(test_nothing_there),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
