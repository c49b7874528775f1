// The command `sim2d`.
#include "lua/base/traceback.h"
#include "lua/command/command_line.h"
#include "lua/command/command_recording.h"
#include "lua/command/command_stats.h"
#include "lua/command/misplaced.h"
#include "lua/command/repl.h"
#include "lua/command/script.h"
#include "lua/command/streams.h"
#include "lua/command/ulimits.h"
#include "lua/parallel/machines.h"
#include "lua/record/live.h"

#include "linalg/dense.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The documentation of the command line promises these exit statuses.
enum { EXIT_RAISED = 1, EXIT_USAGE = 2, EXIT_UNSOLVED = 3 };

// Exit status of a process that was ended by a signal, such as 130 for Ctrl-C.
static int interrupted_status(void) {
  return 128 + *s2_script_interrupted();
}

typedef struct Command {
  S2CommandLine line;
  int argc;
  char **argv;
  int status;
  bool exited; // os.exit in a validated run ends the run, not the process
  S2Live live;
} Command;

static int usage_error(S2Status status) {
  fprintf(stderr, "sim2d: %s\n", status.message);
  return EXIT_USAGE;
}

static int failure_status(lua_State *L) {
  if (*s2_script_interrupted() != 0) {
    return interrupted_status();
  }
  return s2_session(L)->unsolved ? EXIT_UNSOLVED : EXIT_RAISED;
}

static int close_session(lua_State *L) {
  return s2_session_close(L);
}

// Closes the recordings and prints the statistics.
static void command_finish(Command *command, lua_State *L) {
  lua_sethook(L, NULL, 0, 0); // The code below must not be interrupted.
  s2_script_stopped();
  lua_pushcfunction(L, close_session);
  if (lua_pcall(L, 0, 1, 0) != LUA_OK || !lua_isnil(L, -1)) {
    s2_script_report(L);
    command->status = command->status == 0 ? EXIT_RAISED : command->status;
  } else {
    lua_pop(L, 1);
  }
  const S2Session *session = s2_session(L);
  if (command->line.stats) {
    s2_command_stats_print(session);
  }
  if (session->audit && s2_audit_findings(&session->found) > 0) {
    s2_command_findings_print(session);
    command->status = command->status == 0 ? EXIT_UNSOLVED : command->status;
  }
}

// With --view and --watch the command keeps running after the script has ended, unless the script
// did not create a world, for example because it only printed its help.
static void command_linger(Command *command, lua_State *L, bool exited) {
  S2Live *live = &command->live;
  bool wanted = command->line.view || command->line.watch;
  bool shows = s2_session(L)->worlds > 0 || (command->line.watch && !exited);
  if (!wanted || !shows || live->again || *s2_script_interrupted() != 0) {
    return;
  }
  fprintf(stderr, "sim2d: the script has ended; %s (Ctrl-C to quit)\n",
          live->server == NULL ? "it runs again when it is saved"
          : live->watch.files.count == 0
              ? "the viewer shows its last state"
              : "the viewer shows its last state, and the script runs again when it is saved");
  s2_live_linger(L, live, s2_script_interrupted());
}

// os.exit([status [, close]]) as in Lua, but recordings are always closed.
static int command_exit(lua_State *L) {
  Command *command = lua_touserdata(L, lua_upvalueindex(1));
  if (lua_isboolean(L, 1)) {
    command->status = lua_toboolean(L, 1) ? EXIT_SUCCESS : EXIT_FAILURE;
  } else {
    command->status = (int)luaL_optinteger(L, 1, EXIT_SUCCESS);
  }
  // In a validated run os.exit ends the run and not the process.
  if (command->line.session.validator != NULL) {
    command->exited = true;
    s2_script_unwind();
    return luaL_error(L, "the script ends");
  }
  // As at the end of a script, close the recordings and keep the viewer open.
  command_finish(command, L);
  command_linger(command, L, true);
  if (command->live.again) {
    s2_script_unwind();
    return luaL_error(L, "the script runs again");
  }
  s2_live_stop(&command->live);
  if (lua_toboolean(L, 2)) {
    lua_close(L);
  }
  exit(s2_streams_close(command->status));
}

// The last entry of package.searchers, called if no other searcher finds the module. Raises an
// error if the name resembles "sim2d".
static int search_misspelt(lua_State *L) {
  static const char *const ours[] = {"sim2d"};
  const char *name = luaL_checkstring(L, 1);
  char lower[S2_LUA_TEXT];
  size_t length = 0;
  for (; length < sizeof lower - 1 && name[length] != '\0'; length++) {
    lower[length] = (char)tolower((unsigned char)name[length]);
  }
  lower[length] = '\0';
  if (s2_text_nearest(lower, ours, 1) != NULL) {
    return s2_lua_fail(L, "module '%s' not found; write require \"sim2d\"", name);
  }
  return 0;
}

static void open_libraries(Command *command, lua_State *L) {
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_sim2d);
  lua_setfield(L, -2, "sim2d");
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  lua_pushcfunction(L, search_misspelt);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 2);
  lua_getglobal(L, "os");
  lua_pushlightuserdata(L, command);
  lua_pushcclosure(L, command_exit, 1);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 2);
  S2Session *session = s2_session(L);
  *session = command->line.session;
  session->interrupted = s2_script_interrupted();
  session->task = s2_script_task();
  session->live = &command->live;
  session->pictures = &command->line.pictures;
  if (command->line.watch) {
    s2_lua_watch_loads(L, &command->live.watch);
  }
}

// Sets the global `arg`: the script at index 0, its arguments from 1, and the words before it below
// 0.
static void set_arg(Command *command, lua_State *L) {
  int script = command->line.script < command->argc ? command->line.script : 0;
  lua_createtable(L, command->argc - script, script + 1);
  for (int i = 0; i < command->argc; i++) {
    lua_pushstring(L, command->argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

// Calls the chunk with the `arguments` values above it, or reports why it could not be loaded.
static bool run_chunk(Command *command, lua_State *L, int load_status, int arguments) {
  int status = load_status == LUA_OK ? s2_script_call(L, arguments, 0) : load_status;
  // A run that was stopped for a restart, or ended by os.exit, has not failed.
  if (status != LUA_OK || *s2_script_interrupted() != 0) {
    if (command->live.again || command->exited) {
      lua_settop(L, status != LUA_OK ? -2 : -1); // not a failure in the script
      return false;
    }
    command->status = failure_status(L);
    // A validated run has failed only if it ended earlier than the recording.
    S2Validator *validator = command->line.session.validator;
    bool compared = validator != NULL && s2_validator_ended(validator);
    if (validator != NULL && !compared) {
      s2_validator_fail(validator);
    }
    if (status != LUA_OK && !compared) {
      s2_live_notice(&command->live, luaL_tolstring(L, -1, NULL));
      lua_pop(L, 1);
      s2_script_report(L);
    }
    return false;
  }
  return true;
}

static bool run_code(Command *command, lua_State *L) {
  for (int i = 0; i < command->line.code_count; i++) {
    // In one-liners (-e) `sim` is a local variable, so that a script that follows does not see it.
    lua_pushfstring(L, "local sim = require 'sim2d'; %s", command->line.code[i]);
    const char *code = lua_tostring(L, -1);
    int status = luaL_loadbuffer(L, code, strlen(code), "=(command line)");
    lua_remove(L, -2);
    if (!run_chunk(command, L, status, 0)) {
      return false;
    }
  }
  return true;
}

static bool run_script(Command *command, lua_State *L, int script) {
  // "-" is the standard input, unless "--" came before.
  const char *path = NULL;
  if (script < command->argc) {
    char **word = &command->argv[script];
    bool is_stdin = strcmp(word[0], "-") == 0 && strcmp(word[-1], "--") != 0;
    path = is_stdin ? NULL : word[0];
  }
  // A missing script ends the command here. run_chunk reports syntax errors later.
  bool missing = false;
  int status = s2_script_load(L, path, &missing);
  if (missing) {
    s2_live_notice(&command->live, lua_tostring(L, -1));
    s2_script_report(L);
    command->status = EXIT_USAGE;
    if (command->line.session.validator != NULL) {
      s2_validator_fail(command->line.session.validator);
    }
    return false;
  }
  // An option of the command placed after a script that reads no arguments is an error.
  S2Status misplaced = path != NULL && status == LUA_OK && command->line.session.validator == NULL
                           ? s2_misplaced_check(L, command->argc, command->argv, script)
                           : s2_ok();
  if (misplaced.code != S2_OK) {
    lua_settop(L, -2);
    command->status = usage_error(misplaced);
    return false;
  }
  // Let `require` find modules in the folder of the script.
  if (path != NULL) {
    s2_script_find_beside(L, path);
  }
  // Pass the words after the script's name.
  int arguments = 0;
  if (status == LUA_OK) {
    luaL_checkstack(L, command->argc, "too many arguments");
    for (int i = script + 1; i < command->argc; i++) {
      lua_pushstring(L, command->argv[i]);
      arguments++;
    }
  }
  return run_chunk(command, L, status, arguments);
}

static void run_all(Command *command, lua_State *L) {
  const S2CommandLine *line = &command->line;
  bool has_script = line->script < command->argc;
  if (!run_code(command, L) || (has_script && !run_script(command, L, line->script))) {
    return;
  }
  bool nothing_else = !has_script && line->code_count == 0 && !line->version;
  if (line->interactive || (nothing_else && isatty(STDIN_FILENO) == 1)) {
    s2_repl_run(L);
    if (*s2_script_interrupted() != 0) {
      command->status = interrupted_status();
    }
  } else if (nothing_else) {
    run_script(command, L, command->argc);
  }
}

static int protected_main(lua_State *L) {
  Command *command = lua_touserdata(L, 1);
  s2_script_watch();
  open_libraries(command, L);
  set_arg(command, L);
  command->status = EXIT_SUCCESS;
  s2_live_begin(&command->live);
  run_all(command, L);
  command_finish(command, L);
  command_linger(command, L, false);
  return 0;
}

// Describes the run for recordings. Called before each run, since a watched script may have
// changed.
static void command_describe(const Command *command, S2Run *run) {
  s2_run_free(run);
  for (int i = 1; i < command->argc; i++) {
    s2_run_add(run, "word", command->argv[i]);
  }
  if (command->line.script < command->argc) {
    const char *script = command->argv[command->line.script];
    char hash[S2_SHA256_SIZE];
    s2_run_add(run, "script", script);
    if (strcmp(script, "-") != 0 && s2_script_hash(script, hash)) {
      s2_run_add(run, "script_hash", hash);
    }
  }
}

// Each run gets a new Lua state.
static void run_once(Command *command) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs("sim2d: not enough memory\n", stderr);
    command->status = EXIT_RAISED;
    command->live.again = false;
    return;
  }
  lua_pushcfunction(L, s2_traceback_handler);
  lua_pushcfunction(L, protected_main);
  lua_pushlightuserdata(L, command);
  if (lua_pcall(L, 1, 0, 1) != LUA_OK && !command->live.again) {
    s2_script_report(L);
    command->status = EXIT_RAISED;
  }
  lua_close(L);
}

// False for code typed at the prompt and for stdin, because neither can be read twice.
static bool can_run_again(const Command *command) {
  const S2CommandLine *line = &command->line;
  bool has_file = line->script < command->argc && strcmp(command->argv[line->script], "-") != 0;
  return !line->interactive &&
         (has_file || (line->script == command->argc && line->code_count > 0));
}

// Starts --view and --watch. Returns false if the viewer cannot be served.
static bool open_live(Command *command) {
  const S2CommandLine *line = &command->line;
  S2Live *live = &command->live;
  const char *script = line->script < command->argc ? command->argv[line->script] : NULL;
  *live = (S2Live){.pace = 1, .stays = line->view, .script = script};
  live->wait = line->view && !line->no_wait;
  live->unwind = can_run_again(command) ? s2_script_unwind : NULL;
  if (line->watch && script != NULL) {
    s2_watch_add(&live->watch, script);
  }
  if (line->view) {
    S2Status status = s2_live_serve(live, line->view_port);
    if (status.code != S2_OK) {
      fprintf(stderr, "sim2d: --view: %s\n", status.message);
      command->status = EXIT_RAISED;
      return false;
    }
  }
  return true;
}

static int run_lua(Command *command) {
  S2Run run = {0};
  command->line.session.run = &run;
  if (open_live(command)) {
    do {
      command_describe(command, &run);
      run_once(command);
    } while (command->live.again);
  }
  s2_live_free(&command->live);
  s2_run_free(&run);
  return command->status;
}

// If several processes are started together, the first runs the script, and the others run jobs for
// it. Returns false, with the exit status in *result, if this process has run jobs and is done.
static bool join_machines(const S2CommandLine *line, int *result) {
  *result = EXIT_SUCCESS;
  if (!s2_machines_launched()) {
    return true;
  }
  S2Status status = s2_machines_join();
  if (status.code != S2_OK) {
    fprintf(stderr, "sim2d: %s\n", status.message);
    *result = EXIT_RAISED;
    return false;
  }
  if (s2_machines_rank() > 0) {
    s2_machines_serve(&line->session);
    return false;
  }
  return true;
}

static int run_again(int argc, char **argv, S2Validator *validator) {
  Command command = {.argc = argc, .argv = argv};
  S2Status status = s2_command_line_read_recorded(&command.line, argc, argv);
  if (status.code != S2_OK) {
    return usage_error(status);
  }
  command.line.session.validator = validator;
  int result = run_lua(&command);
  s2_command_line_free(&command.line);
  return result;
}

int main(int argc, char **argv) {
  if (!s2_streams_open()) {
    return EXIT_RAISED; // no stream is open to print a message
  }
  if (!s2_ulimits_obey(argv)) {
    _exit(EXIT_RAISED); // with exit(), OpenBLAS could wait for its threads
  }
  s2_dense_end_threads();
  Command command = {.argc = argc, .argv = argv};
  // Check the command line first, so that nothing runs if it is invalid.
  S2Status status = s2_command_line_read(&command.line, argc, argv);
  if (status.code != S2_OK) {
    return usage_error(status);
  }
  const S2CommandLine *line = &command.line;
  if (line->version) {
    s2_command_line_version();
  }
  int result = EXIT_SUCCESS;
  if (line->help) {
    s2_command_line_help();
  } else if (line->tool == S2_INSPECT) {
    result = s2_command_inspect(argc - line->script, argv + line->script);
  } else if (line->tool == S2_REPLAY) {
    result = s2_command_replay(&command.line, argc - line->script, argv + line->script, run_again);
  } else if (join_machines(line, &result)) {
    result = run_lua(&command);
  }
  s2_command_line_free(&command.line);
  return s2_streams_close(result);
}
