// Numbers of worlds and bodies: their lines in fields.def agree with definitions, checks, the
// reference and the annotations for editors.
//
// test_fields --write puts the lines into docs/reference and lua/sim2d/meta.
#include "dynamics/dynamics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LINE = 1200, PATH = 1024 };

// Marks before the two tables of a page: numbers and flags; choices
static const char TABLE[] = "<!-- rows written by test_fields -->\n\n";
static const char CHOICES[] = "<!-- choices written by test_fields -->\n\n";

static bool writing; // mode of this process, set before the tests run

// ---- The lines of the table -------------------------------------------------------------------

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char *text, const char *format, ...) {
  size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  int size = vsnprintf(text + used, LINE - used, format, args);
  va_end(args);
  assert_true(size >= 0 && used + (size_t)size < LINE);
}

static void append_default(char *text, const S2Field *field, const void *def) {
  double value = s2_field_get(field, def);
  if (field->domain == S2_FIELD_VECTOR) {
    const double *at = s2_field_in(field, (void *)def);
    append(text, "{%g, %g}", at[0], at[1]);
  } else if (field->domain == S2_FIELD_FLAG) {
    append(text, "%s", value != 0 ? "true" : "false");
  } else if (field->domain == S2_FIELD_CHOICE) {
    append(text, "\"%s\"", field->names[(int)value]);
  } else if (value == INFINITY) {
    append(text, "math.huge");
  } else if (value > 0 && value < 1 && 1 / value == floor(1 / value) &&
             value * 1000 != floor(value * 1000) && value > 1e-3) {
    append(text, "1/%g", 1 / value);
  } else {
    append(text, "%.10g", value);
    char *exponent = strstr(text, "e-0");
    if (exponent != NULL) { // 1e-9
      memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
    }
  }
}

static bool has_default(const S2Field *field, const void *def) {
  return field->domain != S2_FIELD_COLOR && !isnan(s2_field_get(field, def));
}

// Without the links of Markdown and its marks of code.
static void append_plain(char *text, const char *markdown) {
  for (const char *c = markdown; *c != 0; c++) {
    if (*c == ']' && c[1] == '(') {
      c = strchr(c, ')');
    } else if (*c != '[' && *c != '`') {
      append(text, "%c", *c);
    }
  }
}

// Scripts name the functions of sim.solver, and never the solver that stands for them.
static bool is_for_scripts(const S2Field *field, int choice) {
  return field->names != s2_solver_names || choice != S2_SOLVER_PROGRAM;
}

// | `name` | choices, the default first | meaning |
static void make_choice_row(char row[LINE], const S2Field *field, const void *def) {
  row[0] = 0;
  append(row, "| `%s` | `", field->name);
  append_default(row, field, def);
  append(row, "`");
  for (int i = 0; field->names[i] != NULL; i++) {
    if (i != (int)s2_field_get(field, def) && is_for_scripts(field, i)) {
      append(row, ", `\"%s\"`", field->names[i]);
    }
  }
  append(row, " | %s |", field->meaning);
}

// | `name` | default | unit; meaning |
static void make_row(char row[LINE], const S2Field *field, const void *def) {
  row[0] = 0;
  append(row, "| `%s` | ", field->name);
  if (has_default(field, def) && s2_field_get(field, def) == (double)UINT32_MAX) {
    append(row, "all bits | ");
  } else if (has_default(field, def)) {
    append(row, "`");
    append_default(row, field, def);
    append(row, "` | ");
  } else {
    append(row, "| ");
  }
  const char *separator = "";
  if (field->unit[0] != 0) {
    append(row, "%s%s", separator, field->unit);
    separator = "; ";
  }
  append(row, "%s%s |", field->meaning[0] != 0 ? separator : "", field->meaning);
}

static void append_type(char *text, const S2Field *field) {
  switch (field->domain) {
  case S2_FIELD_VECTOR:
    append(text, "sim2d.XY");
    return;
  case S2_FIELD_AT_LEAST_ONE:
  case S2_FIELD_BITS:
    append(text, "integer");
    return;
  case S2_FIELD_FLAG:
    append(text, "boolean");
    return;
  case S2_FIELD_COLOR:
    append(text, "string");
    return;
  case S2_FIELD_CHOICE:
    for (int i = 0; field->names[i] != NULL; i++) {
      if (is_for_scripts(field, i)) {
        append(text, "%s\"%s\"", i > 0 ? "|" : "", field->names[i]);
      }
    }
    append(text, "%s", field->names == s2_solver_names ? "|string" : "");
    return;
  default:
    append(text, "number");
    return;
  }
}

// ---@field name? type unit, default; meaning
static void make_annotation(char line[LINE], const S2Field *field, const void *def, bool key) {
  line[0] = 0;
  append(line, "---@field %s%s ", field->name, key ? "?" : "");
  append_type(line, field);
  const char *separator = " ";
  if (field->unit[0] != 0) {
    append(line, " %s", field->unit);
    separator = ", ";
  }
  if (key && has_default(field, def) && s2_field_get(field, def) != (double)UINT32_MAX) {
    append(line, "%sdefault ", separator);
    append_default(line, field, def);
    separator = "; ";
  }
  if (field->meaning[0] != 0) {
    append(line, "%s", separator);
    append_plain(line, field->meaning);
  }
}

// ---- Files ------------------------------------------------------------------------------------

static char *read_all(const char *name, char path[PATH]) {
  const char *source = getenv("S2_SOURCE");
  assert_non_null(source);
  snprintf(path, PATH, "%s/%s", source, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  long size = ftell(file);
  assert_true(size > 0);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, file), size);
  text[size] = 0;
  fclose(file);
  return text;
}

// In the file's part between `head` and the next empty line, one line begins with `start` and
// equals `line`. Where it differs, or is missing, it is written if `writing`.
static int compare(const char *name, const char *head, const char *start, const char *line) {
  char path[PATH];
  char *text = read_all(name, path), *at = strstr(text, head);
  if (at == NULL) {
    fail_msg("%s has no '%s'", name, head);
  }
  at += strlen(head);
  const char *end = strstr(at, "\n\n");
  end = end == NULL ? at + strlen(at) : end + 1;
  char *found = strstr(at, start);
  bool there = found != NULL && found < end && found[-1] == '\n';
  size_t old = there ? strcspn(found, "\n") : 0;
  bool same = there && strlen(line) == old && memcmp(found, line, old) == 0;
  if (!same && !writing) {
    print_error("%s: expected\n  %s\ngot\n  %.*s\n", name, line, (int)old, there ? found : "");
  }
  if (!same && writing) {
    const char *cut = there ? found : end;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s%s", (int)(cut - text), text, line, there ? "" : "\n", cut + old);
    assert_int_equal(fclose(file), 0);
  }
  free(text);
  return same || writing ? 0 : 1;
}

static int compare_all(const S2Field *fields, const void *def, const char *page, const char *keys,
                       const char *members, const char *meta) {
  int wrong = 0, count = 0;
  for (const S2Field *field = fields; field->name != NULL; field++) {
    char line[LINE], start[80];
    if (field->program) {
      continue;
    }
    bool choice = field->domain == S2_FIELD_CHOICE;
    (choice ? make_choice_row : make_row)(line, field, def);
    snprintf(start, sizeof start, "| `%s` |", field->name);
    wrong += compare(page, choice ? CHOICES : TABLE, start, line);
    make_annotation(line, field, def, true);
    snprintf(start, sizeof start, "---@field %s? ", field->name);
    wrong += compare(meta, keys, start, line);
    if (members != NULL) {
      make_annotation(line, field, def, false);
      snprintf(start, sizeof start, "---@field %s ", field->name);
      wrong += compare(meta, members, start, line);
    }
    count++;
  }
  assert_true(count > 10);
  return wrong;
}

static void the_reference_and_annotations_tell_what_the_table_says(void **state) {
  (void)state;
  S2WorldDef world = s2_world_def();
  S2BodyDef body = s2_body_def();
  int wrong = compare_all(s2_world_fields, &world, "docs/reference/world.md",
                          "---@class sim2d.WorldDef\n", NULL, "lua/sim2d/meta/world.lua");
  wrong +=
      compare_all(s2_body_fields, &body, "docs/reference/bodies.md", "---@class sim2d.BodyDef\n",
                  "---@class sim2d.Body\n", "lua/sim2d/meta/body.lua");
  if (wrong > 0) {
    fail_msg("%d lines differ; written by: test_fields --write", wrong);
  }
}

// ---- The engine -------------------------------------------------------------------------------

// A number outside of the domain; NAN: the domain contains all numbers of the type.
static double outside(const S2Field *field) {
  switch (field->domain) {
  case S2_FIELD_POSITIVE:
  case S2_FIELD_AT_LEAST_ONE:
    return 0;
  case S2_FIELD_CHOICE:
    return 99;
  case S2_FIELD_FLAG:
  case S2_FIELD_BITS:
  case S2_FIELD_COLOR:
    return NAN;
  case S2_FIELD_ANY:
    return INFINITY;
  default:
    return -1;
  }
}

static void definitions_are_checked_by_their_lines(void **state) {
  (void)state;
  int refused = 0;
  for (const S2Field *field = s2_world_fields; field->name != NULL; field++) {
    S2WorldDef def = s2_world_def();
    S2World *world = NULL;
    double value = field->domain == S2_FIELD_VECTOR ? INFINITY : outside(field);
    if (isnan(value)) {
      continue;
    }
    s2_field_set(field, &def, value);
    S2Status status = s2_world_create(&def, &world);
    assert_int_equal(status.code, S2_INVALID);
    assert_memory_equal(status.message, field->name, strlen(field->name));
    refused++;
  }
  assert_true(refused >= 20);
  S2WorldDef def = s2_world_def();
  S2World *world = NULL;
  assert_int_equal(s2_world_create(&def, &world).code, S2_OK);
  for (const S2Field *field = s2_body_fields; field->name != NULL; field++) {
    S2Vec2 centre = {0, 0};
    S2ShapeDef circle = {.vertices = &centre,
                         .count = 1,
                         .radius = 1,
                         .friction = NAN,
                         .restitution = NAN,
                         .density = NAN};
    S2BodyDef body = s2_body_def();
    S2BodyId id;
    body.shapes = &circle;
    body.shape_count = 1;
    if (isnan(outside(field))) {
      continue;
    }
    s2_field_set(field, &body, outside(field));
    S2Status status = s2_body_create(world, &body, &id);
    assert_int_equal(status.code, S2_INVALID);
    assert_memory_equal(status.message, field->name, strlen(field->name));
    refused++;
  }
  assert_true(refused >= 33);
  s2_world_destroy(world);
}

// The value in a definition is read back, and a set value is read back, for each field by its own
// name.
static void fields_of_bodies_are_kept_apart(void **state) {
  (void)state;
  S2WorldDef def = s2_world_def();
  S2World *world = NULL;
  assert_int_equal(s2_world_create(&def, &world).code, S2_OK);
  S2Vec2 centre = {0, 0};
  S2ShapeDef circle = {.vertices = &centre,
                       .count = 1,
                       .radius = 1,
                       .friction = NAN,
                       .restitution = NAN,
                       .density = NAN};
  S2BodyDef body = s2_body_def();
  body.shapes = &circle;
  body.shape_count = 1;
  body.type = S2_KINEMATIC; // a kinematic body with a bound has all fields
  double expected[S2_BODY_FIELD_COUNT];
  for (int i = S2_BODY_STATE_COUNT; i < S2_BODY_FIELD_COUNT; i++) {
    const S2Field *field = s2_body_field((S2BodyField)i);
    bool whole = field->domain > S2_FIELD_VECTOR, flag = field->domain == S2_FIELD_FLAG;
    expected[i] = i == S2_BODY_TYPE ? S2_KINEMATIC : flag ? 1 : whole ? i : 1.0 / (i + 1);
    s2_field_set(field, &body, expected[i]);
  }
  S2BodyId id;
  assert_int_equal(s2_body_create(world, &body, &id).code, S2_OK);
  for (int round = 0; round < 2; round++) {
    for (int i = S2_BODY_STATE_COUNT; i < S2_BODY_FIELD_COUNT; i++) {
      double value = NAN;
      assert_int_equal(s2_body_get(world, id, (S2BodyField)i, &value).code, S2_OK);
      assert_true(value == expected[i]);
    }
    for (int i = S2_BODY_STATE_COUNT; i < S2_BODY_FIELD_COUNT && round == 0; i++) {
      const S2Field *field = s2_body_field((S2BodyField)i);
      bool whole = field->domain > S2_FIELD_VECTOR, flag = field->domain == S2_FIELD_FLAG;
      expected[i] = i == S2_BODY_TYPE ? S2_KINEMATIC : flag ? 0 : whole ? i + 40 : 0.5 / (i + 1);
      assert_int_equal(s2_body_set(world, id, (S2BodyField)i, expected[i]).code, S2_OK);
    }
  }
  s2_world_destroy(world);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_and_annotations_tell_what_the_table_says),
      cmocka_unit_test(definitions_are_checked_by_their_lines),
      cmocka_unit_test(fields_of_bodies_are_kept_apart),
  };
  writing = argc > 1 && strcmp(argv[1], "--write") == 0;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
