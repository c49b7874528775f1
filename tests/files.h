// Common code for tests of files and pictures: a folder to write to, and a world to write.
#ifndef S2_TEST_FILES_H
#define S2_TEST_FILES_H

#include "temporary.h"
#include "worlds.h"

#include "base/memory.h"
#include "record/record.h"
#include "record/s2d/s2d.h"

#include <locale.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[TEMPORARY_SIZE];

static inline const char *in_directory(const char *name) {
  static char paths[4][TEMPORARY_SIZE + 128]; // four in use at a time are enough here
  static int next = 0;
  next = (next + 1) % 4;
  snprintf(paths[next], sizeof paths[next], "%s/%s", directory, name);
  return paths[next];
}

// Ends with a 0 that is not counted. The caller frees it.
static inline char *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = s2_memory_take(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  bytes[*size] = '\0';
  fclose(file);
  return bytes;
}

static inline void write_all(const char *path, const void *bytes, size_t size) {
  remove(path); // some file systems wait for the disk when a file is truncated and written again
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static inline int occurrences(const char *text, const char *word) {
  int count = 0;
  for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
    count++;
  }
  return count;
}

static inline S2BodyDef named(S2BodyDef def, const char *name) {
  def.name = name;
  return def;
}

// A floor, a disc and a box resting on it, and a pendulum.
static inline S2World *small_world(void) {
  S2World *world = world_new(-9.81, 1.0 / 120);
  add_box(world, named(fixed_at(0, -0.5), "floor"), 20, 1);
  S2BodyId disc = add_disc(world, named(at(-1, 0.5), "a \"round\", <thing> & co"), 0.5);
  add_box(world, at(1, 0.5), 1, 1);
  S2BodyId bob = add_disc(world, named(at(4, 2), "bob"), 0.25);
  S2JointDef hinge = hinge_def(no_body, bob, 3, 3);
  hinge.name = "pivot";
  S2JointId joint;
  must(s2_joint_create(world, &hinge, &joint));
  must(s2_body_set_v(world, disc, (const double[3]){0.3, 0.1, 0}));
  return world;
}

// One joint of each type, high up, most of them between two boxes.
static inline void add_all_joints(S2World *world) {
  S2JointId joint;
  for (int type = 0; type <= S2_WHEEL; type++) {
    S2BodyId a = add_box(world, at(3 * type, 10), 1, 1), b = add_box(world, at(3 * type, 12), 1, 1);
    bool one = type == S2_LOCK || type == S2_MOUSE;
    S2JointDef def = joint_def((S2JointType)type, a, one ? no_body : b);
    def.anchor_a = s2_vec2(3 * type, 10.6);
    def.axis = s2_vec2(0, 1);
    def.stiffness = 20;
    def.target = s2_vec2(3 * type, 11);
    def.lock_x = type == S2_LOCK;
    if (type == S2_GEAR) {
      S2JointDef axle_a = hinge_def(a, no_body, 3 * type, 10);
      S2JointDef axle_b = hinge_def(b, no_body, 3 * type, 12);
      must(s2_joint_create(world, &axle_a, &def.joint_a));
      must(s2_joint_create(world, &axle_b, &def.joint_b));
    }
    must(s2_joint_create(world, &def, &joint));
  }
}

// A minimal XML parser for the SVG files of the engine: elements, attributes, text, the predefined
// entities.
static inline void assert_well_formed(const char *text) {
  enum { DEEPEST = 8 };
  char open[DEEPEST][16];
  int depth = 0, roots = 0;
  for (const char *at = text; *at != '\0';) {
    if (*at == '&') {
      assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 ||
                  strncmp(at, "&gt;", 4) == 0 || strncmp(at, "&quot;", 6) == 0);
    }
    assert_true((unsigned char)*at >= 0x20 || *at == '\n');
    if (*at != '<') {
      assert_true(depth > 0 || *at == '\n');
      at++;
      continue;
    }
    bool closing = *++at == '/';
    at += closing;
    char name[16] = "";
    size_t length = strcspn(at, " >/\n");
    assert_in_range(length, 1, sizeof name - 1);
    memcpy(name, at, length);
    at += length;
    while (*at == ' ' || *at == '\n') {
      at += strspn(at, " \n");
      at += strcspn(at, "=<>");
      assert_true(at[0] == '=' && at[1] == '"');
      at += 2;
      at += strcspn(at, "\"<&"); // no attribute of these files needs escapes
      assert_int_equal(*at, '"');
      at++;
    }
    bool empty = *at == '/';
    at += empty;
    assert_int_equal(*at, '>');
    at++;
    if (closing) {
      assert_true(depth > 0);
      assert_string_equal(name, open[--depth]);
    } else {
      roots += depth == 0;
      if (!empty) {
        assert_in_range(depth, 0, DEEPEST - 1);
        strcpy(open[depth++], name);
      }
    }
  }
  assert_int_equal(depth, 0);
  assert_int_equal(roots, 1);
}

// A locale with a decimal comma, made in the directory. Returns false if the system has none.
static inline bool take_comma_locale(void) {
  char command[TEMPORARY_SIZE + 128], text[16];
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >/dev/null 2>&1",
           directory);
  bool made = access(in_directory("de_DE.UTF-8"), F_OK) == 0 || system(command) == 0;
  setenv("LOCPATH", directory, 1);
  if (!made || setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
    unsetenv("LOCPATH");
    print_message("no locale de_DE here\n");
    return false;
  }
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5");
  return true;
}

static inline void leave_locale(void) {
  setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
}

static inline int make_directory(void **state) {
  (void)state;
  temporary_name(directory, "test");
  return mkdtemp(directory) == NULL ? -1 : 0;
}

static inline int remove_directory(void **state) {
  (void)state;
  char command[TEMPORARY_SIZE + 16];
  snprintf(command, sizeof command, "rm -r '%s'", directory);
  return system(command);
}

// Five frames of a disc, recorded by a process that is killed before it closes the recording.
static inline void record_until_killed(const char *path) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    S2World *world = world_new(0, 1.0 / 120);
    add_disc(world, at(0, 0), 1);
    S2Recorder *recorder = NULL;
    bool ok = s2_recorder_open(path, &recorder).code == S2_OK;
    for (int i = 0; ok && i < 5; i++) {
      ok = s2_recorder_frame(recorder, world).code == S2_OK;
    }
    kill(getpid(), ok ? SIGKILL : SIGTERM);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

// Recomputes the checksums of the chunks of a .s2d file.
static inline void fix_checksums(unsigned char *bytes, size_t size) {
  for (size_t at = S2_S2D_FILE_HEADER; at + S2_S2D_CHUNK_HEADER <= size;) {
    size_t length = s2_s2d_get32(bytes + at + 4);
    if (length > size - at - S2_S2D_CHUNK_HEADER) {
      return;
    }
    uint64_t hash = s2_s2d_hash(s2_s2d_hash(S2_S2D_HASH_START, bytes + at, 8),
                                bytes + at + S2_S2D_CHUNK_HEADER, length);
    s2_s2d_set64(bytes + at + 8, hash);
    at += S2_S2D_CHUNK_HEADER + length;
  }
}

#endif
