// Objects created and destroyed in any order: lists and orders compared with plain models of them.
#include "worlds.h"

#include "base/line.h"
#include "base/memory.h"
#include "base/rng.h"

enum { MOST = 60 };

static size_t below(S2Rng *rng, int count) {
  return (size_t)s2_rng_integer(rng, 0, count - 1);
}

static void test_line(void **state) {
  (void)state;
  S2Rng rng = s2_rng_seeded(1);
  for (int round = 0; round < 50; round++) {
    S2_LINE(int) line = {0};
    // at any position, or mostly at the ends
    int model[2000], count = 0, ends = (int)below(&rng, 3);
    for (int i = 0; i < 2000; i++) {
      bool in = count == 0 || s2_rng_uniform(&rng) < (i < 1000 ? 0.6 : 0.4);
      int at = ends == 1 ? (in ? count : 0) : ends == 2 ? 0 : (int)below(&rng, count + in);
      if (in) {
        s2_line_insert(line, at);
        line.at[at] = i;
        memmove(model + at + 1, model + at, sizeof *model * (size_t)(count - at));
        model[at] = i;
        count += 1;
      } else {
        s2_line_remove(line, at);
        count -= 1;
        memmove(model + at, model + at + 1, sizeof *model * (size_t)(count - at));
      }
      assert_int_equal(line.count, count);
      assert_memory_equal(line.at, model, sizeof *model * (size_t)count);
      assert_true(line.before + line.count <= line.capacity);
    }
    s2_line_free(line);
  }
}

// Removed at the front and added at the end, as by a world that creates and destroys: the memory
// does not grow.
static void test_line_keeps_its_room(void **state) {
  (void)state;
  S2_LINE(int) line = {0};
  for (int i = 0; i < 1000; i++) {
    s2_line_insert(line, line.count);
    line.at[i] = i;
  }
  uint64_t calls = s2_memory_count();
  for (int i = 1000; i < 100000; i++) {
    s2_line_remove(line, 0);
    s2_line_insert(line, line.count);
    line.at[line.count - 1] = i;
    assert_int_equal(line.at[0], i - 999);
  }
  assert_true(s2_memory_count() - calls < 4);
  s2_line_free(line);
}

// ---- Worlds -----------------------------------------------------------------------------------

typedef struct Made { // in the order of creation
  S2BodyId body[MOST];
  int bodies;
  S2JointId joint[4 * MOST];
  S2BodyId of[4 * MOST][2];
  S2JointId gear_of[4 * MOST][2];
  int joints;
} Made;

static bool same_body(S2BodyId a, S2BodyId b) {
  return a.index == b.index && a.serial == b.serial;
}

static bool same_joint(S2JointId a, S2JointId b) {
  return a.index == b.index && a.serial == b.serial;
}

static void forget_joint(Made *made, S2JointId id) {
  int kept = 0;
  for (int i = 0; i < made->joints; i++) {
    bool gone = same_joint(made->joint[i], id) || same_joint(made->gear_of[i][0], id) ||
                same_joint(made->gear_of[i][1], id);
    if (!gone) {
      made->joint[kept] = made->joint[i];
      memcpy(made->of[kept], made->of[i], sizeof made->of[i]);
      memcpy(made->gear_of[kept], made->gear_of[i], sizeof made->gear_of[i]);
      kept += 1;
    }
  }
  made->joints = kept;
}

static void forget_body(Made *made, int at) {
  S2BodyId id = made->body[at];
  for (int i = made->joints - 1; i >= 0; i = i > made->joints ? made->joints - 1 : i - 1) {
    if (same_body(made->of[i][0], id) || same_body(made->of[i][1], id)) {
      forget_joint(made, made->joint[i]);
    }
  }
  made->bodies -= 1;
  memmove(made->body + at, made->body + at + 1, sizeof *made->body * (size_t)(made->bodies - at));
}

static void check(const S2World *world, const Made *made) {
  S2BodyId bodies[MOST];
  S2JointId joints[4 * MOST];
  assert_int_equal(s2_world_bodies(world, bodies, MOST), made->bodies);
  assert_int_equal(s2_world_joints(world, joints, 4 * MOST), made->joints);
  for (int i = 0; i < made->bodies; i++) {
    assert_true(same_body(bodies[i], made->body[i]));
    assert_true(same_body(s2_world_body(world, i), bodies[i]));
  }
  for (int i = 0; i < made->joints; i++) {
    assert_true(same_joint(joints[i], made->joint[i]));
    assert_true(same_joint(s2_world_joint(world, i), joints[i]));
  }
  assert_true(same_body(s2_world_body(world, made->bodies), (S2BodyId){0, 0}));
  assert_true(same_joint(s2_world_joint(world, -1), (S2JointId){0, 0}));
}

static void make_joint(S2World *world, Made *made, S2Rng *rng) {
  if (made->bodies < 2 || made->joints >= 4 * MOST) {
    return;
  }
  S2BodyId a = made->body[below(rng, made->bodies)], b = made->body[below(rng, made->bodies)];
  b = s2_rng_uniform(rng) < 0.2 ? no_body : b;
  S2JointDef def = hinge_def(a, b, 0, 0);
  int n = made->joints;
  memset(made->gear_of[n], 0, sizeof made->gear_of[n]);
  if (s2_rng_uniform(rng) < 0.3 && n > 1) {
    def = joint_def(S2_GEAR, no_body, no_body);
    def.joint_a = made->gear_of[n][0] = made->joint[below(rng, n)];
    def.joint_b = made->gear_of[n][1] = made->joint[below(rng, n)];
  }
  if (s2_joint_create(world, &def, &made->joint[n]).code != S2_OK) {
    return; // the same one twice, or a gear of gears
  }
  S2JointInfo info;
  must(s2_joint_info(world, made->joint[n], &info));
  made->of[n][0] = info.a;
  made->of[n][1] = info.b;
  made->joints += 1;
}

static void test_world(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    S2Rng rng = s2_rng_seeded(seed);
    S2World *world = world_new(0, 1.0 / 120);
    Made made = {0}, kept = {0};
    size_t size = 0;
    void *image = NULL;
    for (int i = 0; i < 600; i++) {
      double kind = s2_rng_uniform(&rng);
      if (kind < 0.3 && made.bodies < MOST) {
        made.body[made.bodies++] = add_disc(world, at(3.0 * i, 0), 1);
      } else if (kind < 0.6) {
        make_joint(world, &made, &rng);
      } else if (kind < 0.7 && made.bodies > 1) {
        (void)s2_world_no_contact(world, made.body[below(&rng, made.bodies)],
                                  made.body[below(&rng, made.bodies)], s2_rng_uniform(&rng) < 0.7);
      } else if (kind < 0.85 && made.bodies > 0) {
        int which = (int)below(&rng, made.bodies);
        must(s2_body_destroy(world, made.body[which]));
        forget_body(&made, which);
      } else if (kind < 0.96 && made.joints > 0) {
        S2JointId joint = made.joint[below(&rng, made.joints)];
        must(s2_joint_destroy(world, joint));
        forget_joint(&made, joint);
      } else if (kind < 0.98 || image == NULL) {
        s2_memory_free(image);
        size = s2_world_image_size(world);
        image = s2_memory_take(size);
        s2_world_image_write(world, image);
        kept = made;
      } else {
        must(s2_world_image_read(world, image, size));
        made = kept;
      }
      check(world, &made);
    }
    must(s2_world_step(world));
    while (made.bodies > 0) { // in the order of their creation
      must(s2_body_destroy(world, made.body[0]));
      forget_body(&made, 0);
      check(world, &made);
    }
    s2_memory_free(image);
    s2_world_destroy(world);
  }
}

// Pairs that never touch, after bodies were created and destroyed in the same slots.
static void test_pairs(void **state) {
  (void)state;
  S2World *world = world_new(-9.81, 1.0 / 120);
  add_box(world, fixed_at(0, -0.5), 99, 1);
  for (int round = 0; round < 3; round++) {
    S2BodyId a = add_disc(world, at(0, 0.5), 0.5), b = add_disc(world, at(0.2, 0.5), 0.5);
    S2BodyId c = add_disc(world, at(0.4, 0.5), 0.5);
    must(s2_world_no_contact(world, b, a, true));
    must(s2_world_no_contact(world, c, b, true));
    must(s2_world_no_contact(world, a, c, true));
    must(s2_world_no_contact(world, a, c, false));
    must(s2_world_step(world));
    int count = 0, among = 0;
    const S2Contact *contacts = s2_world_contacts(world, &count);
    for (int i = 0; i < count; i++) {
      bool pair = same_body(contacts[i].a, a) && same_body(contacts[i].b, c);
      among += pair || (same_body(contacts[i].a, c) && same_body(contacts[i].b, a));
    }
    assert_int_equal(count, 4); // three with the ground, and a with c
    assert_int_equal(among, 1);
    must(s2_body_destroy(world, round == 1 ? c : b));
    must(s2_body_destroy(world, a));
    must(s2_body_destroy(world, round == 1 ? b : c));
  }
  s2_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_line),
      cmocka_unit_test(test_line_keeps_its_room),
      cmocka_unit_test(test_world),
      cmocka_unit_test(test_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
