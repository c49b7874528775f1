#include "lua/command/command_line.h"

#include "base/memory.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

// `value` is the text after the name of an option, or NULL. The setter checks the value.
typedef S2Status SetFn(S2CommandLine *line, const char *value);

// Effect of an option when a recorded command line runs again. PICTURE options are ignored then,
// because they only describe how a recording looks. `replay` also accepts them after its own name.
typedef enum Recorded { TAKEN, PASSED_OVER, PICTURE, REFUSED } Recorded;

typedef struct Option {
  const char *name;  // name with its dashes
  const char *value; // value's name in --help; NULL: no value; "[=...": only after =
  SetFn *set;
  const char *help;
  Recorded recorded;
} Option;

// ---- Setters ----------------------------------------------------------------------------------

static S2Status set_code(S2CommandLine *line, const char *value) {
  line->code[line->code_count++] = value;
  return s2_ok();
}

static S2Status set_interactive(S2CommandLine *line, const char *value) {
  (void)value;
  line->interactive = true;
  return s2_ok();
}

static S2Status set_version(S2CommandLine *line, const char *value) {
  (void)value;
  line->version = true;
  return s2_ok();
}

static S2Status set_help(S2CommandLine *line, const char *value) {
  (void)value;
  line->help = true;
  return s2_ok();
}

static S2Status set_stats(S2CommandLine *line, const char *value) {
  (void)value;
  line->stats = true;
  line->session.profile = true;
  return s2_ok();
}

static S2Status set_quiet(S2CommandLine *line, const char *value) {
  (void)value;
  line->session.quiet = true;
  return s2_ok();
}

static S2Status set_strict(S2CommandLine *line, const char *value) {
  (void)value;
  line->session.strict = true;
  return s2_ok();
}

static S2Status set_audit(S2CommandLine *line, const char *value) {
  (void)value;
  line->session.audit = true;
  return s2_ok();
}

static S2Status set_seed(S2CommandLine *line, const char *value) {
  char *end = NULL;
  errno = 0;
  unsigned long long seed = strtoull(value, &end, 10);
  // strtoull accepts leading blanks and signs
  if (*value < '0' || *value > '9' || *end != '\0' || errno != 0) {
    return s2_error(S2_INVALID, "--seed '%s': an integer from 0 to %llu is expected", value,
                    (unsigned long long)UINT64_MAX);
  }
  line->session.seed = seed;
  return s2_ok();
}

static S2Status set_threads(S2CommandLine *line, const char *value) {
  enum { MOST = 1024 }; // the limit of `threads` in scripts
  char *end = NULL;
  long threads = strtol(value, &end, 10);
  if (*value < '0' || *value > '9' || *end != '\0' || threads < 1 || threads > MOST) {
    return s2_error(S2_INVALID, "--threads '%s': an integer from 1 to %d is expected", value,
                    (int)MOST);
  }
  line->session.threads = (int)threads;
  return s2_ok();
}

static S2Status set_dt(S2CommandLine *line, const char *value) {
  char *end = NULL;
  double dt = s2_number_read(value, &end);
  if (end == value || *end != '\0' || !isfinite(dt) || dt <= 0) {
    return s2_error(S2_INVALID, "--dt '%s': a positive number of seconds is expected", value);
  }
  line->session.dt = dt;
  return s2_ok();
}

// Sets the budget: a number of work units, or a time with its unit.
static S2Status set_budget(S2CommandLine *line, const char *value) {
  char *end = NULL;
  double number = s2_number_read(value, &end);
  double unit = *end == '\0'             ? 1
                : strcmp(end, "ms") == 0 ? S2_WORK_RATE / 1e3
                : strcmp(end, "s") == 0  ? S2_WORK_RATE
                                         : NAN;
  double budget = number * unit;
  if (end == value || !isfinite(budget) || budget < 0) {
    return s2_error(
        S2_INVALID,
        "--budget '%s': a time such as 50ms or 0.05s, or a number of work units, is expected",
        value);
  }
  line->session.budget = budget;
  return s2_ok();
}

static S2Status set_solver(S2CommandLine *line, const char *value) {
  S2Solver solver = s2_solver_from_name(value);
  if (solver != S2_SOLVER_COUNT && solver != S2_SOLVER_PROGRAM) {
    line->session.has_solver = true;
    line->session.solver = solver;
    return s2_ok();
  }
  // The message shows the nearest name, or the list of all names.
  const char *names[S2_SOLVER_COUNT];
  char list[120] = "";
  size_t used = 0;
  for (int i = 0; i < S2_SOLVERS_BUILT_IN; i++) {
    names[i] = s2_solver_name(s2_solver_built_in(i));
    int n = snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", names[i]);
    used += (size_t)n < sizeof list - used ? (size_t)n : sizeof list - used - 1;
  }
  const char *nearest = s2_text_nearest(value, names, S2_SOLVERS_BUILT_IN);
  if (nearest != NULL) {
    return s2_error(S2_INVALID, "--solver '%s': there is no such solver; did you mean '%s'?", value,
                    nearest);
  }
  return s2_error(S2_INVALID, "--solver '%s': one of %s is expected", value, list);
}

static bool is_in(const char *word, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcasecmp(word, list[i]) == 0) {
      return true;
    }
  }
  return false;
}

// Check the suffix here, because the recorder would report the error only at the first step, which
// may come late.
static S2Status set_record(S2CommandLine *line, const char *value) {
  static const char *const now[] = {".csv", ".npz", ".h5",  ".s2d", ".html",
                                    ".svg", ".png", ".gif", ".mp4"};
  const char *slash = strrchr(value, '/');
  const char *name = slash == NULL ? value : slash + 1;
  const char *dot = strrchr(name, '.');
  const char *suffix = dot == NULL ? "" : dot;
  if (!is_in(suffix, now, sizeof now / sizeof now[0])) {
    return s2_error(
        S2_INVALID,
        "--record '%s': a file name ending in .csv, .npz, .h5, .s2d, .html, .svg, .png, "
        ".gif or .mp4 is expected",
        value);
  }
  line->session.record_path = value;
  return s2_ok();
}

static S2Status set_view(S2CommandLine *line, const char *value) {
  enum { LAST_PORT = 65535 };
  line->view = true;
  if (value != NULL) {
    char *end = NULL;
    long port = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || port < 1 || port > LAST_PORT) {
      return s2_error(S2_INVALID, "--view '%s': a port from 1 to %d is expected", value,
                      (int)LAST_PORT);
    }
    line->view_port = (int)port;
  }
  return s2_ok();
}

static S2Status set_no_wait(S2CommandLine *line, const char *value) {
  (void)value;
  line->no_wait = true;
  return s2_ok();
}

// A setter for each picture option.
#define PICTURE_SETTER(name, word)                                                                 \
  static S2Status name(S2CommandLine *line, const char *value) {                                   \
    return s2_picture_words_read(&line->pictures, word, value);                                    \
  }
PICTURE_SETTER(set_width, S2_WORD_WIDTH)
PICTURE_SETTER(set_follow, S2_WORD_FOLLOW)
PICTURE_SETTER(set_strobe, S2_WORD_STROBE)
PICTURE_SETTER(set_trails, S2_WORD_TRAILS)
PICTURE_SETTER(set_fps, S2_WORD_FPS)
PICTURE_SETTER(set_speed, S2_WORD_SPEED)
#undef PICTURE_SETTER

static S2Status set_watch(S2CommandLine *line, const char *value) {
  (void)value;
  line->watch = true;
  return s2_ok();
}

static S2Status set_dump(S2CommandLine *line, const char *value) {
  struct stat info;
  if (mkdir(value, 0777) != 0 && errno != EEXIST) {
    return s2_error(S2_IO, "--dump-problems '%s': %s", value, strerror(errno));
  }
  if (stat(value, &info) != 0 || !S_ISDIR(info.st_mode)) {
    return s2_error(S2_IO, "--dump-problems '%s': not a directory", value);
  }
  line->session.dump_directory = value;
  return s2_ok();
}

// ---- The table --------------------------------------------------------------------------------

static const Option options[] = {
    {"-e", "CODE", set_code, "run CODE, before the script if there is one", REFUSED},
    {"-i", NULL, set_interactive, "open the prompt, after the script if there is one", REFUSED},
    {"-v", NULL, set_version, "print the version, then continue", PASSED_OVER},
    {"--version", NULL, set_version, "print the version", PASSED_OVER},
    {"--help", NULL, set_help, "print this help; after the script: its own options", PASSED_OVER},
    {"--record", "FILE", set_record,
     "record worlds: .s2d, .html, .csv, .npz, .h5, .svg, .png, .gif, .mp4", TAKEN},
    {"--width", "N", set_width, "pixels of a recorded picture or video", PICTURE},
    {"--view-follow", "BODY", set_follow,
     "the view of a recording or of --view follows this body (name or number)", PICTURE},
    {"--strobe", "S", set_strobe,
     "a recorded picture shows bodies every S seconds, or at the times S,S,...", PICTURE},
    {"--trails", NULL, set_trails, "a recorded picture, video or page shows the paths of bodies",
     PICTURE},
    {"--fps", "N", set_fps, "frames per second of a recorded video", PICTURE},
    {"--speed", "X", set_speed, "simulated seconds per second of a recorded video or page",
     PICTURE},
    {"--seed", "N", set_seed, "seed of sim.random (default 0)", TAKEN},
    {"--dt", "S", set_dt, "time step of worlds that do not set their own, in s", TAKEN},
    {"--solver", "NAME", set_solver, "solver of worlds that do not set their own", TAKEN},
    {"--budget", "T", set_budget,
     "limit on the work per step for large islands, as a time (50ms) or a number", TAKEN},
    {"--stats", NULL, set_stats,
     "after the run, print steps, times, iterations and worst residuals", TAKEN},
    {"--quiet", NULL, set_quiet, "show no progress bar", TAKEN},
    {"--audit", NULL, set_audit, "audit each step; any finding sets the exit status to 3", TAKEN},
    {"--strict", NULL, set_strict,
     "fail (exit status 3) if a step misses its tolerance or fails its audit", TAKEN},
    {"--dump-problems", "DIR", set_dump, "write each step problem to a file in DIR", PASSED_OVER},
    {"--view", "[=PORT]", set_view, "serve the live viewer and print its address", PASSED_OVER},
    {"--no-wait", NULL, set_no_wait, "with --view: do not wait until the address is opened",
     PASSED_OVER},
    {"--threads", "N", set_threads, "threads of worlds, batches and jobs that do not set their own",
     TAKEN},
    {"--watch", NULL, set_watch, "run again when the script, or a file it loads, is saved",
     PASSED_OVER},
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };

void s2_command_line_version(void) {
  printf("sim2d %s (%s)\n", s2_version(), LUA_RELEASE);
}

void s2_command_line_help(void) {
  puts("usage: sim2d [options] [script.lua [args...]]\n"
       "\n"
       "Runs a Lua script that simulates rigid bodies in the plane. \"-\" reads the script from\n"
       "stdin; without a script sim2d reads lines from the terminal. The script finds its "
       "arguments\n"
       "in `arg` and `...`.\n");
  // Print one line per option, with optional values in brackets.
  for (int i = 0; i < OPTION_COUNT; i++) {
    char left[32];
    const char *value = options[i].value == NULL ? "" : options[i].value;
    snprintf(left, sizeof left, *value == '[' ? "%s%s" : "%s %s", options[i].name, value);
    printf("  %-20s %s\n", left, options[i].help);
  }
  puts("  inspect FILE.s2d     instead of a script: print its contents (--json, --frame N)\n"
       "  replay FILE.s2d [OUT]\n"
       "                       instead of a script: convert the recording (.csv ...),\n"
       "                       with --width, --view-follow, --strobe ... as for --record;\n"
       "                       --validate --run: run it again and compare state by state");
  puts("  --NAME VALUE         after the script: sets a value of its sim.options{}\n"
       "\n"
       "Exit status: 0 done, 1 the script raised an error, 2 wrong usage, 3 a step was not solved\n"
       "under --strict or an audit has a finding, 130 interrupted (143 by SIGTERM).");
}

// ---- Parsing ----------------------------------------------------------------------------------

static S2Status unknown_option(const char *name) {
  const char *names[OPTION_COUNT];
  for (int i = 0; i < OPTION_COUNT; i++) {
    names[i] = options[i].name;
  }
  // A single letter is near every other letter, so a suggestion would be useless.
  const char *nearest = strlen(name) > 2 ? s2_text_nearest(name, names, OPTION_COUNT) : NULL;
  if (nearest != NULL) {
    return s2_error(S2_INVALID, "unknown option '%s'; did you mean '%s'?  (sim2d --help)", name,
                    nearest);
  }
  return s2_error(S2_INVALID, "unknown option '%s'  (sim2d --help)", name);
}

// Finds the option that a word names, or NULL. Also returns the length of the name, and the value
// if the word contains one.
static const Option *find_option(const char *word, const char **value, size_t *name_length) {
  bool is_long = word[1] == '-';
  const char *equals = is_long ? strchr(word, '=') : NULL;
  // -eCODE is one word, as in lua
  size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
  const char *joined = equals != NULL ? equals + 1 : NULL;
  if (!is_long && strncmp(word, "-e", 2) == 0 && length > 2) {
    joined = word + 2;
    length = 2;
  }
  *value = joined;
  *name_length = length;
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (strlen(options[i].name) == length && strncmp(options[i].name, word, length) == 0) {
      return &options[i];
    }
  }
  return NULL;
}

int s2_command_line_option_words(const char *word) {
  const char *joined = NULL;
  size_t length = 0;
  const Option *option = word[0] == '-' ? find_option(word, &joined, &length) : NULL;
  if (option == NULL) {
    return 0;
  }
  return option->value != NULL && *option->value != '[' && joined == NULL ? 2 : 1;
}

// Reads the option at argv[*at] and its value, and moves *at past them.
static S2Status read_option(S2CommandLine *line, int argc, char **argv, bool recorded, int *at) {
  const char *word = argv[*at], *joined = NULL;
  size_t length = 0;
  const Option *option = find_option(word, &joined, &length);
  if (option == NULL) {
    char name[60]; // long enough for every option; longer words are not options
    snprintf(name, sizeof name, "%.*s", (int)(length < 50 ? length : 50), word);
    return unknown_option(name);
  }
  // The value follows "=" or is the next word.
  if (option->value == NULL && joined != NULL) {
    return s2_error(S2_INVALID, "%s takes no value", option->name);
  }
  const char *value = joined;
  bool optional = option->value != NULL && *option->value == '[';
  if (option->value != NULL && joined == NULL && !optional) {
    if (*at + 1 >= argc) {
      return s2_error(S2_INVALID, "%s needs a value: %s %s", option->name, option->name,
                      option->value);
    }
    value = argv[++*at];
  }
  // The words of a recording may come from anybody. Therefore some options are refused, and others
  // have no effect.
  ++*at;
  if (recorded && option->recorded == REFUSED) {
    return s2_error(S2_INVALID, "%s is not allowed in a recorded command line", option->name);
  }
  bool passed_over = option->recorded == PASSED_OVER || option->recorded == PICTURE;
  return recorded && passed_over ? s2_ok() : option->set(line, value);
}

S2Status s2_command_line_read_picture(S2CommandLine *line, int argc, char **argv, int *at) {
  const char *joined = NULL;
  size_t length = 0;
  const Option *option = find_option(argv[*at], &joined, &length);
  if (option == NULL) {
    return s2_error(S2_INVALID, "unknown option: %.80s", argv[*at]);
  }
  if (option->recorded != PICTURE) {
    return s2_error(S2_INVALID, "%s is not an option of replay", option->name);
  }
  S2_TRY(read_option(line, argc, argv, false, at));
  --*at;
  return s2_ok();
}

// Picture options require a picture. The value of --record is known at this point.
static S2Status check_pictures(const S2CommandLine *line) {
  for (int i = 0; i < S2_PICTURE_WORDS; i++) {
    bool followed = i == S2_WORD_FOLLOW && line->view;
    if (line->pictures.given[i] && line->session.record_path == NULL && !followed) {
      return s2_error(S2_INVALID, "%s requires --record FILE%s",
                      s2_picture_word_option((S2PictureWord)i),
                      i == S2_WORD_FOLLOW ? " or --view" : "");
    }
  }
  // --view-follow also applies to the viewer, so it is valid even if the format of the file does
  // not support it.
  S2PictureWords words = line->pictures;
  words.given[S2_WORD_FOLLOW] = words.given[S2_WORD_FOLLOW] && !line->view;
  return line->session.record_path == NULL
             ? s2_ok()
             : s2_picture_words_check(&words, line->session.record_path);
}

static S2Status read_all(S2CommandLine *line, int argc, char **argv, bool recorded) {
  int at = 1;
  while (at < argc && argv[at][0] == '-' && argv[at][1] != '\0') {
    if (strcmp(argv[at], "--") == 0) {
      at++;
      break;
    }
    S2_TRY(read_option(line, argc, argv, recorded, &at));
  }
  line->script = at;
  if (line->watch && (at >= argc || strcmp(argv[at], "-") == 0)) {
    return s2_error(S2_INVALID, "--watch needs the file of a script: sim2d --watch script.lua");
  }
  // A script that has the name of a tool can be run with a path, as in ./replay.
  if (at < argc && strcmp(argv[at - 1], "--") != 0) {
    bool inspect = strcmp(argv[at], "inspect") == 0, replay = strcmp(argv[at], "replay") == 0;
    line->tool = inspect ? S2_INSPECT : replay ? S2_REPLAY : S2_RUN_SCRIPT;
  }
  if (line->no_wait && !line->view) {
    return s2_error(S2_INVALID, "--no-wait requires --view");
  }
  return line->tool == S2_REPLAY ? s2_ok() : check_pictures(line);
}

static S2Status option_read_line(S2CommandLine *line, int argc, char **argv, bool recorded) {
  *line = (S2CommandLine){.session = {.dt = (double)NAN, .budget = (double)NAN}};
  line->session.option_words = s2_command_line_option_words;
  line->code = s2_memory_take((size_t)(argc + 1) * sizeof *line->code);
  S2Status status = read_all(line, argc, argv, recorded);
  if (status.code != S2_OK) {
    s2_command_line_free(line);
  }
  return status;
}

S2Status s2_command_line_read(S2CommandLine *line, int argc, char **argv) {
  return option_read_line(line, argc, argv, false);
}

S2Status s2_command_line_read_recorded(S2CommandLine *line, int argc, char **argv) {
  return option_read_line(line, argc, argv, true);
}

void s2_command_line_free(S2CommandLine *line) {
  s2_memory_free(line->code);
  line->code = NULL;
}
