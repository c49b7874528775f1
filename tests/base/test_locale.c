// Problem files and numbers under a locale with a decimal comma, as a host program may set one.
#include "files.h"

#include "base/arena.h"
#include "base/number.h"
#include "mcp/contact/contact.h"
#include "mcp/lcp/lcp.h"
#include "mcp/mcp.h"

static const double numbers[4] = {2.5, -1.0 / 3, 1e-300, 0.1};

// The written text has no comma, and two files of the same problem are equal.
static void assert_plain(const char *name) {
  size_t size = 0;
  char *text = read_all(in_directory(name), &size);
  char *body = strchr(text, '\n'); // the first line may consist of words
  assert_non_null(body);
  for (const char *at = body; *at != '\0'; at++) {
    if (*at == '#') {
      at += strcspn(at, "\n");
    }
    assert_int_not_equal(*at, ',');
  }
  assert_non_null(strstr(text, "2.5"));
  s2_memory_free(text);
}

static void test_numbers(void **state) {
  (void)state;
  if (!take_comma_locale()) {
    skip();
  }
  char text[S2_NUMBER_SIZE], *end = NULL;
  for (int i = 0; i < 4; i++) {
    s2_number_exact(text, numbers[i]);
    assert_true(s2_number_read(text, &end) == numbers[i] && *end == '\0');
    s2_number_printed(text, numbers[i]);
    assert_true(s2_number_read(text, &end) == numbers[i] && *end == '\0');
  }
  assert_true(s2_number_read("2,5", &end) == 2 && *end == ',');
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5"); // the locale is unchanged
  leave_locale();
}

static void test_lcp(void **state) {
  (void)state;
  if (!take_comma_locale()) {
    skip();
  }
  const double q[2] = {-1.5, numbers[1]};
  const S2LcpProblem problem = {.n = 2, .m = numbers, .q = q};
  S2LcpProblem *read = NULL;
  must(s2_lcp_write(&problem, in_directory("x.lcp")));
  assert_plain("x.lcp");
  must(s2_lcp_read(in_directory("x.lcp"), &read));
  assert_memory_equal(read->m, numbers, sizeof numbers);
  assert_memory_equal(read->q, q, sizeof q);
  s2_lcp_free(read);
  leave_locale();
}

static void test_contact(void **state) {
  (void)state;
  if (!take_comma_locale()) {
    skip();
  }
  S2Arena arena;
  s2_arena_init(&arena);
  S2Triplet triplets[4];
  for (int i = 0; i < 4; i++) {
    triplets[i] = (S2Triplet){.row = i / 2, .column = i % 2, .value = numbers[i]};
  }
  const S2Csr w = s2_csr_from_triplets(2, 2, 4, triplets, &arena);
  const double q[2] = {-1.5, 0.25}, mu = 0.7;
  const S2ContactProblem problem = {.contacts = 1, .w = &w, .q = q, .mu = &mu};
  S2ContactFile *read = NULL;
  must(s2_contact_write(&problem, in_directory("x.contact")));
  assert_plain("x.contact");
  must(s2_contact_read(in_directory("x.contact"), &read));
  assert_memory_equal(read->local_form.w->value, numbers, sizeof numbers);
  assert_memory_equal(read->local_form.q, q, sizeof q);
  assert_true(read->local_form.mu[0] == mu);
  s2_contact_free(read);
  s2_arena_free(&arena);
  leave_locale();
}

static void test_step_problem(void **state) {
  (void)state;
  if (!take_comma_locale()) {
    skip();
  }
  const S2Row row = {.a = 0,
                     .b = S2_GROUND,
                     .coupled_to = -1,
                     .hi = INFINITY,
                     .ja = {0.1, numbers[1], 1},
                     .bias = 2.5};
  const double mass[3] = {0.005, 1, 1}, rhs[3] = {0, 0.3, -0.1};
  const S2Problem problem = {.nodes = 1,
                             .rows = 1,
                             .mass = mass,
                             .rhs = rhs,
                             .row = &row,
                             .velocity_scale = 0.1,
                             .length = 0.2};
  S2Problem *read = NULL;
  must(s2_problem_write(&problem, in_directory("x.problem")));
  assert_plain("x.problem");
  must(s2_problem_read(in_directory("x.problem"), &read));
  assert_memory_equal(read->mass, mass, sizeof mass);
  assert_memory_equal(read->rhs, rhs, sizeof rhs);
  assert_memory_equal(read->row[0].ja, row.ja, sizeof row.ja);
  assert_true(read->velocity_scale == 0.1 && read->length == 0.2 && read->row[0].bias == 2.5);
  s2_problem_free(read);
  leave_locale();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_lcp),
      cmocka_unit_test(test_contact),
      cmocka_unit_test(test_step_problem),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
