// The prompt on a terminal: Ctrl-C, completion, history. test_cli.lua tests the parts that do not
// need a terminal.
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEEN = 1 << 16, PATIENCE = 60000 }; // bytes of a session's output; ms until a test fails

static char folder[TEMPORARY_SIZE]; // folder of the history

typedef struct Session {
  pid_t child;
  int terminal;
  char seen[SEEN]; // output since the last expected text
  size_t size;
} Session;

// The child's side of the terminal; argv ends with NULL.
static void prompt_run(const char *name, char **argv) {
  setsid();
  int end = open(name, O_RDWR);
  if (end < 0 || ioctl(end, TIOCSCTTY, 0) != 0) {
    _exit(9);
  }
  for (int fd = 0; fd <= 2; fd++) {
    dup2(end, fd);
  }
  signal(SIGINT, SIG_DFL); // a shell sets it to ignored for background processes
  setenv("TERM", "xterm", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("XDG_STATE_HOME", folder, 1);
  execv(argv[0], argv);
  _exit(9);
}

static void session_expect(Session *session, const char *text) {
  for (;;) {
    session->seen[session->size] = '\0';
    char *found = strstr(session->seen, text);
    if (found != NULL) {
      size_t used = (size_t)(found - session->seen) + strlen(text);
      session->size -= used;
      memmove(session->seen, session->seen + used, session->size);
      return;
    }
    struct pollfd waits = {.fd = session->terminal, .events = POLLIN};
    ssize_t got =
        poll(&waits, 1, PATIENCE) == 1
            ? read(session->terminal, session->seen + session->size, SEEN - 1 - session->size)
            : -1;
    if (got <= 0) {
      kill(session->child, SIGKILL);
      fail_msg("'%s' was expected, this came: %s", text, session->seen);
    }
    session->size += (size_t)got;
  }
}

static void session_begin(Session *session, const char *script) {
  const char *command = getenv("S2_SIM2D");
  assert_non_null(command);
  session->size = 0;
  session->terminal = posix_openpt(O_RDWR | O_NOCTTY);
  assert_true(session->terminal >= 0);
  // otherwise a child would hold the terminal open
  assert_int_equal(fcntl(session->terminal, F_SETFD, FD_CLOEXEC), 0);
  assert_int_equal(grantpt(session->terminal), 0);
  assert_int_equal(unlockpt(session->terminal), 0);
  const char *name = ptsname(session->terminal);
  assert_non_null(name);
  char *argv[4] = {strdup(command), script != NULL ? strdup("-i") : NULL,
                   script != NULL ? strdup(script) : NULL, NULL};
  session->child = fork();
  assert_true(session->child >= 0);
  if (session->child == 0) {
    prompt_run(name, argv);
  }
  for (int i = 0; i < 3; i++) {
    free(argv[i]);
  }
  session_expect(session, "Ctrl-D ends.");
  session_expect(session, "> ");
}

static void session_type(Session *session, const char *text) {
  assert_int_equal(write(session->terminal, text, strlen(text)), strlen(text));
}

// Reads the remaining output, waits for the child and closes the terminal; returns the status, -1:
// a signal.
static int session_wait(Session *session) {
  struct pollfd waits = {.fd = session->terminal, .events = POLLIN};
  char rest[256];
  int ready = poll(&waits, 1, PATIENCE);
  while (ready == 1 && read(session->terminal, rest, sizeof rest) > 0) {
    ready = poll(&waits, 1, PATIENCE);
  }
  if (ready != 1) {
    kill(session->child, SIGKILL);
    fail_msg("the end of the session was expected");
  }
  int status = 0;
  assert_int_equal(waitpid(session->child, &status, 0), session->child);
  close(session->terminal);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Ctrl-D at the prompt; the status.
static int session_end(Session *session) {
  session_type(session, "\x04");
  return session_wait(session);
}

static void ctrl_c_at_the_prompt_clears_the_line(void **state) {
  (void)state;
  Session session;
  session_begin(&session, NULL);
  session_type(&session, "1 + unfinished");
  session_expect(&session, "unfinished");
  session_type(&session, "\x03");
  session_expect(&session, "\n> ");
  session_type(&session, "20 + 1\r");
  session_expect(&session, "\n21\r\n> ");
  // the previous lines of a chunk are dropped as well, and a second Ctrl-C has the same effect
  session_type(&session, "x = {\r");
  session_expect(&session, ">> ");
  session_type(&session, "1, 2");
  session_expect(&session, "1, 2");
  session_type(&session, "\x03");
  session_expect(&session, "\n> ");
  session_type(&session, "\x03");
  session_expect(&session, "\n> ");
  session_type(&session, "=x == nil\r");
  session_expect(&session, "\ntrue\r\n> ");
  assert_int_equal(session_end(&session), 0);
}

static void ctrl_c_ends_what_runs_and_not_the_prompt(void **state) {
  (void)state;
  Session session;
  session_begin(&session, NULL);
  for (int i = 0; i < 2; i++) {
    session_type(&session, "print 'begins' while true do end\r");
    session_expect(&session, "\nbegins\r\n");
    session_type(&session, "\x03");
    session_expect(&session, "interrupted\r\n> ");
  }
  session_type(&session, "6 * 7\r");
  session_expect(&session, "\n42\r\n> ");
  assert_int_equal(session_end(&session), 0);
}

#ifdef S2_HAVE_EDIT

static void tab_completes_keys_within_braces(void **state) {
  (void)state;
  Session session;
  session_begin(&session, NULL);
  // all keys (where there are several, the second TAB lists them), then one
  session_type(&session, "w = sim.world { \t\t");
  session_expect(&session, "gravity = ");
  session_expect(&session, "contact_margin = ");
  session_type(&session, "grav\t{ 0, -5 }, max_it\t50 }\r");
  session_expect(&session, "\n> ");
  session_type(&session, "=w.gravity.y, w.max_iterations\r");
  session_expect(&session, "\n-5.0\t50\r\n> ");
  // methods, on separate lines, tables within, options after a path; none where a value stands
  session_type(&session, "b = w:circle {\r");
  session_expect(&session, ">> ");
  session_type(&session, "radi\t1, fric\t.25 }\r");
  session_expect(&session, "\n> ");
  session_type(&session, "h = w:hinge { b, anch\tb.posi\t, motor = { spe\t2, max_t\t3 } }\r");
  session_expect(&session, "\n> ");
  session_type(&session, "=b.friction, h.motor_speed, h.motor_max\r");
  session_expect(&session, "\n0.25\t2.0\t3.0\r\n> ");
  session_type(&session, "w:draw('x.svg', { leg\t");
  session_expect(&session, "end = "); // the text has "leg" already
  session_type(&session, "\x03");
  session_expect(&session, "\n> ");
  // no completions inside a text, nor for functions outside of the library
  session_type(&session, "function f(t) return next(t) end\r");
  session_expect(&session, "\n> ");
  session_type(&session, "f { grav\t= 1 }\r");
  session_expect(&session, "\ngrav\t1\r\n> ");
  assert_int_equal(session_end(&session), 0);
}

static void history_lives_on_in_the_next_session(void **state) {
  (void)state;
  Session session, other;
  session_begin(&session, NULL);
  session_begin(&other, NULL);
  session_type(&session, "='first \\\\ \xc3\xa9'\r");
  session_expect(&session, "\nfirst \\ \xc3\xa9\r\n> ");
  session_type(&other, "='of another'\r");
  session_expect(&other, "\nof another\r\n> ");
  // also after a script ends the session, or a signal does
  session_type(&session, "os.exit(3)\r");
  assert_int_equal(session_wait(&session), 3);
  kill(other.child, SIGKILL);
  assert_int_equal(session_wait(&other), -1);
  // Up, once for each line
  session_begin(&session, NULL);
  session_type(&session, "\x10\x10\r");
  session_expect(&session, "\nof another\r\n> ");
  session_type(&session, "\x10\x10\x10\x10\r");
  session_expect(&session, "\nfirst \\ \xc3\xa9\r\n> ");
  assert_int_equal(session_end(&session), 0);
}

#endif

static void the_prompt_has_worlds_that_were_locals(void **state) {
  (void)state;
  char path[TEMPORARY_SIZE + 64];
  snprintf(path, sizeof path, "%s/script.lua", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("local sim = require 'sim2d'\n"
        "local first = sim.world {}\nlocal second = sim.world { gravity = { 0, -2 } }\n"
        "sim.world {}:close()\nfirst:circle { radius = 1, name = 'ball' }\nsecond:step(3)\n",
        file);
  fclose(file);
  Session session;
  session_begin(&session, path);
  session_type(&session, "collectgarbage() worlds = sim.worlds() return #worlds\r");
  session_expect(&session, "\n2\r\n> ");
  session_type(&session, "=worlds[1].bodies[1], worlds[2].gravity.y\r");
  session_expect(&session, "Body 'ball' {");
  session_expect(&session, "-2.0\r\n> ");
  assert_int_equal(session_end(&session), 0);
  remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ctrl_c_at_the_prompt_clears_the_line),
      cmocka_unit_test(ctrl_c_ends_what_runs_and_not_the_prompt),
#ifdef S2_HAVE_EDIT
      cmocka_unit_test(tab_completes_keys_within_braces),
      cmocka_unit_test(history_lives_on_in_the_next_session),
#endif
      cmocka_unit_test(the_prompt_has_worlds_that_were_locals),
  };
  temporary_name(folder, "prompt");
  if (mkdtemp(folder) == NULL) {
    return 1;
  }
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char path[TEMPORARY_SIZE + 64];
  snprintf(path, sizeof path, "%s/sim2d/prompt_history", folder);
  remove(path);
  snprintf(path, sizeof path, "%s/sim2d", folder);
  rmdir(path);
  rmdir(folder);
  return failed;
}
