// sim2d replay --validate: running the command line of a recording again. The recording may come
// from anybody, and its script may do anything. Therefore code in the command line is never run. A
// script runs only with the user's permission, which the user can give after seeing the command
// line.
#define _XOPEN_SOURCE 700 // NOLINT: for realpath
#include "lua/command/command_recording.h"

#include "base/memory.h"
#include "base/text.h"
#include "lua/command/command_line.h"
#include "lua/command/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool validate_is_plain(const char *word) {
  return *word != '\0' &&
         word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                           "-_./=:,+@%")] == '\0';
}

void s2_command_print_run(FILE *file, const S2Run *run) {
  int at = 0;
  fputs("sim2d", file);
  for (const char *word; (word = s2_run_next(run, "word", &at)) != NULL;) {
    // Quotes words with characters that are special in a shell. A quote character inside a word
    // ends and reopens the quotes.
    if (validate_is_plain(word)) {
      fprintf(file, " %s", word);
      continue;
    }
    fputs(" '", file);
    for (const char *end; (end = strchr(word, '\'')) != NULL; word = end + 1) {
      char *part = s2_data_copy_text(word, (size_t)(end - word));
      s2_text_print(file, S2_TEXT_PLAIN, part);
      s2_memory_free(part);
      fputs("'\\''", file);
    }
    s2_text_print(file, S2_TEXT_PLAIN, word);
    fputs("'", file);
  }
  fputs("\n", file);
}

enum { EXIT_WRONG_USAGE = 2 };

// Returns the recorded command line in the form of main's argv. The caller frees the array. The
// words are borrowed.
static char **words_of(const S2Run *run, int *count) {
  *count = 1;
  char **argv = s2_memory_take_zeroed(((size_t)run->entries.count + 2) * sizeof *argv);
  int at = 0;
  // NOLINTBEGIN(performance-no-int-to-ptr): words are read only
  argv[0] = (char *)(uintptr_t) "sim2d";
  for (const char *word; (word = s2_run_next(run, "word", &at)) != NULL;) {
    argv[(*count)++] = (char *)(uintptr_t)word;
  }
  // NOLINTEND(performance-no-int-to-ptr)
  return argv;
}

// True if the file is in the current folder or a folder below it. Links are followed.
static bool validate_is_inside(const char *file) {
  char *folder = realpath(".", NULL), *whole = realpath(file, NULL);
  size_t length = folder != NULL ? strlen(folder) : 0;
  bool root = length == 1; // "/" contains every file
  bool inside = folder != NULL && whole != NULL && strncmp(whole, folder, length) == 0 &&
                (root || whole[length] == '/');
  free(folder);
  free(whole);
  return inside;
}

// Shows the command line, so that the user can decide whether to run it.
static int validate_refuse(const S2Run *run, const char *reason) {
  fflush(stdout);
  fputs("sim2d: --validate: ", stderr);
  s2_text_print(stderr, S2_TEXT_PLAIN, reason);
  fputs("\n  the recorded command line: ", stderr);
  s2_command_print_run(stderr, run);
  return EXIT_WRONG_USAGE;
}

typedef enum Contents { AS_RECORDED, CHANGED, NOT_KNOWN } Contents; // state of the script file

static Contents validate_compare(const S2Run *run, const char *script) {
  const char *recorded = s2_run_get(run, "script_hash", 0);
  char hash[S2_SHA256_SIZE];
  if (recorded == NULL || !s2_script_hash(script, hash)) {
    return NOT_KNOWN;
  }
  return strcmp(recorded, hash) == 0 ? AS_RECORDED : CHANGED;
}

static const char *const told[] = {
    [AS_RECORDED] = "is the script that was recorded",
    [CHANGED] = "has changed since it was recorded",
    [NOT_KNOWN] = "may have changed (the recording has no hash of it)",
};

// True if the user allows this script to run. `allowed` is the value of --run, which may name the
// script.
static bool is_allowed(const char *script, const char *allowed) {
  return allowed != NULL && (*allowed != '\0' || validate_is_inside(script));
}

static int validate_check(const S2Run *run, const S2CommandLine *line, int argc, char **argv,
                          const char *allowed) {
  char reason[S2_MESSAGE_SIZE];
  const char *script = line->script < argc ? argv[line->script] : "-";
  // Refuse if the run cannot be repeated or the script does not exist.
  if (line->tool != S2_RUN_SCRIPT || strcmp(script, "-") == 0) {
    return validate_refuse(run, "the recording has no command line that can be run again (it was "
                                "made by a program, by a script from stdin or at the prompt)");
  }
  if (access(script, R_OK) != 0) {
    snprintf(reason, sizeof reason,
             "cannot open '%.100s': %s; if the script has moved, name it: --run=PATH", script,
             strerror(errno));
    return validate_refuse(run, reason);
  }
  // Run only with the user's permission. Otherwise the message shows how to give permission.
  if (is_allowed(script, allowed)) {
    return EXIT_SUCCESS;
  }
  if (allowed == NULL) {
    snprintf(reason, sizeof reason,
             "this would run '%.80s', which %s; to allow this, add --run%s%.80s", script,
             told[validate_compare(run, script)], validate_is_inside(script) ? "" : "=",
             validate_is_inside(script) ? "" : script);
  } else {
    snprintf(reason, sizeof reason,
             "the script '%.80s' is outside this folder; to allow it, name it: --run=%.80s", script,
             script);
  }
  return validate_refuse(run, reason);
}

int s2_command_validate(S2Replay *replay, const char *path, const char *allowed, S2RunAgain *run) {
  const S2Run *recorded = s2_replay_run(replay);
  if (s2_replay_frame_count(replay) == 0) {
    fprintf(stderr, "sim2d: --validate: '%s' has no frames: there is nothing to compare with\n",
            path);
    return EXIT_FAILURE;
  }
  // Check permission first. No recorded code has run so far.
  int argc = 0;
  char **argv = words_of(recorded, &argc);
  S2CommandLine line;
  S2Status status = s2_command_line_read_recorded(&line, argc, argv);
  // If the user names a script, it replaces the recorded script, which may have moved.
  if (status.code == S2_OK && allowed != NULL && *allowed != '\0' && line.script < argc &&
      strcmp(argv[line.script], "-") != 0) {
    argv[line.script] = (char *)(uintptr_t)allowed; // NOLINT(performance-no-int-to-ptr): read only
  }
  int result = status.code != S2_OK ? validate_refuse(recorded, status.message)
                                    : validate_check(recorded, &line, argc, argv, allowed);
  if (result == EXIT_SUCCESS) {
    // Report if the script or the build differs.
    Contents contents = validate_compare(recorded, argv[line.script]);
    if (contents != AS_RECORDED) {
      fputs("sim2d: note: '", stderr);
      s2_text_print(stderr, S2_TEXT_PLAIN, argv[line.script]);
      fprintf(stderr, "' %s\n", told[contents]);
    }
    const char *build = s2_run_get(recorded, "build", 0);
    if (build != NULL && strcmp(build, s2_build()) != 0) {
      fputs("sim2d: note: recorded by another build (", stderr);
      s2_text_print(stderr, S2_TEXT_PLAIN, build);
      fprintf(stderr, "; this one: %s)\n", s2_build());
    }
    // Run the script, and compare each step as it is made.
    S2Validator *validator = s2_validator_new(replay);
    (void)run(argc, argv, validator);
    result = s2_validator_report(validator, path) ? EXIT_SUCCESS : EXIT_FAILURE;
    s2_validator_free(validator);
  }
  if (status.code == S2_OK) {
    s2_command_line_free(&line);
  }
  s2_memory_free(argv);
  return result;
}
