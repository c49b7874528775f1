// Private to lua/: the memory of the Lua objects, and functions shared by the files of the binding.
//
// A World owns an engine world. Its user values are the Lua values that belong to the world:
// callbacks, user data of bodies, and caches. Bodies, joints and handles keep their world alive
// through a user value, so the order of garbage collection never matters.
#ifndef S2_BINDING_H
#define S2_BINDING_H

#include "base/array.h"
#include "lua/base/errors.h"
#include "lua/base/keys.h"
#include "lua/base/session.h"
#include "lua/base/values.h"
#include "lua/record/progress.h"

#include <lauxlib.h>
#include <lua.h>

typedef struct S2LuaWorld S2LuaWorld;
typedef struct S2WorldTape S2WorldTape;

// ---- Session ----------------------------------------------------------------------------------

typedef struct S2LuaRandom {
  const char *type;
  S2Rng rng;
} S2LuaRandom;

enum {
  S2_LUA_KIND = 16,        // letters that identify a kind of warning, and a NUL
  S2_LUA_KINDS = 16,       // kinds that a session distinguishes
  S2_LUA_WARN_WORLDS = 10, // worlds per session that print a warning of one kind
  S2_LUA_WARN_CALLS = 3    // calls that print a warning of one kind without a world
};

// Number of worlds in a session that reported a warning of one kind.
typedef struct S2LuaWarned {
  char kind[S2_LUA_KIND];
  int worlds;
} S2LuaWarned;

typedef struct S2LuaSession {
  S2Session open;              // the public part (session.h); must be first
  S2LuaWorld *oldest, *newest; // open worlds
  S2LuaRandom *random;         // sim.random; NULL before it is created
  uint64_t made;               // number of worlds created so far
  S2LuaWarned warned[S2_LUA_KINDS];
} S2LuaSession;

S2LuaSession *s2_lua_session(lua_State *L);
bool s2_lua_interrupted(const S2LuaSession *session);
double s2_lua_clock(void); // Monotonic time in seconds.
// Like s2_lua_clock, but returns 0 unless the world measures times.
double s2_lua_callback_clock(const S2LuaWorld *lw);
void s2_lua_open_random(lua_State *L); // Pushes sim.random.

// ---- World ------------------------------------------------------------------------------------

// Lists of callbacks, each an array of handles.
typedef enum S2Hook {
  S2_HOOK_BEFORE,
  S2_HOOK_AFTER,
  S2_HOOK_FILTER,
  S2_HOOK_PRE_SOLVE,
  // Laws (world:control), which run before all other functions of a step. They are not copied to
  // clones.
  S2_HOOK_CONTROL,
  S2_HOOK_NOW,   // at(t) for the current time t; runs before the step that starts at t
  S2_HOOK_TIMER, // timers of world:every, world:at and world:start
  S2_HOOK_EVENT, // one list per type of event: S2_HOOK_EVENT + S2EventType
  S2_HOOK_LAW = S2_HOOK_EVENT + S2_SOLVER_WARNING + 1, // one list per body, in S2_STORE_LAWS
  S2_HOOK_COUNT
} S2Hook;

// User values of a World.
typedef enum S2Store {
  S2_STORE_BODIES = 1,  // weak table, serial -> Body; one object per body while it is referenced
  S2_STORE_JOINTS,      // the same for joints
  S2_STORE_NAMES,       // weak table, name -> Body; results of world.bodies.NAME
  S2_STORE_JOINT_NAMES, // the same for joints
  S2_STORE_DATA,        // serial -> body.data
  S2_STORE_LAWS,        // serial -> {[0] = Body, handles of force laws}
  S2_STORE_CONSTRAINTS, // serial of a joint or body -> functions (constraint.c, motion.c)
  S2_STORE_HOOKS,       // S2Hook + 1 -> array of handles
  S2_STORE_BODY_LIST,   // world.bodies
  S2_STORE_JOINT_LIST,  // world.joints
  S2_STORE_GUARD,       // closed when a stepping function returns or raises an error
  S2_STORE_CONTACT,     // the object passed to pre_solve callbacks
  S2_STORE_ERROR,       // error raised by a callback inside the engine's step
  S2_STORE_ROWS,        // id of a recording -> its functions by column number
  S2_STORE_COUNT = S2_STORE_ROWS
} S2Store;

typedef enum S2Phase {
  S2_IDLE,
  S2_BETWEEN, // inside world:step or world:run, but no step is in progress
  S2_BEFORE,  // before_step callbacks run; an error rolls back
  S2_INSIDE,  // the engine makes a step; an error rolls back
  S2_AFTER,   // the step is done; events, timers and after_step callbacks run
} S2Phase;

typedef struct S2LuaRows S2LuaRows; // A recording of columns.

typedef struct S2LuaRecorder {
  S2Recorder *recorder; // recorder of frames, or NULL
  S2LuaRows *rows;      // recorder of columns, or NULL; both are NULL in a validated run
  bool compared;        // frames are compared with the validated recording
  bool failed;          // a frame could not be written
  int64_t id;
  int channels;       // number of watched values in the recording
  int decisions;      // number of clock decisions in the recording
  int every, skipped; // steps per frame, and steps since the last frame
} S2LuaRecorder;

typedef struct S2LuaWarning {
  char kind[S2_LUA_KIND], message[S2_MESSAGE_SIZE]; // first warning of this kind
  uint64_t held_back;                               // number of later warnings of this kind
  bool quiet; // not printed, because enough worlds have printed this kind
} S2LuaWarning;

struct S2LuaWorld {
  const char *type;
  S2World *world; // NULL: closed
  S2LuaSession *session;
  S2LuaWorld *older, *newer;
  S2Arena scratch;           // memory for one call into the binding
  uint64_t number;           // identifies the world in its session and in its snapshots
  S2_ARRAY(S2BodyId) bodies; // creation order
  S2_ARRAY(S2JointId) joints;
  bool bodies_stale, joints_stale, names_stale;
  int destroyed; // number of bodies destroyed since the last sweep of data and laws

  // State of stepping. Stack indices refer to the stepping function, where index 1 is the World.
  S2Phase phase;
  lua_State *L;
  int at_handler, at_hooks, at_laws, at_constraints;
  int at_making;       // functions of the constraint being created
  int constraints;     // number of entries in S2_STORE_CONSTRAINTS
  bool marked, failed; // s2_world_mark was called; a callback in the engine raised an error
  bool stepped;        // whether the world was stepped at least once
  const bool *held;    // while *held is true, a batch steps this world: do not close it
  bool control_in_lua; // some observations exist only in Lua
  S2Rng random_before;
  S2Progress progress;

  int hooks[S2_HOOK_COUNT]; // number of handles in each list
  bool sweep;               // some lists contain removed handles
  S2_ARRAY(S2LuaRecorder) recorders;
  int64_t next_recorder;
  S2_ARRAY(S2LuaWarning) warnings;
  bool gathered; // statistics were added to the session
  bool judged;   // The script does not set `audit`, so findings go to the session.

  // State of gradients (on_tape.h).
  struct S2LuaDiff *diff;
  S2WorldTape *on_tape; // The world's record in gradient call `tape_generation`.
  // The world's record at the beginning of the step, if it was on the tape.
  S2WorldTape *tape_mark;
  uint32_t tape_generation; // 0: not on a tape
  bool dt_on_tape;          // dt depends on tracked numbers
};

// Returns the open World at `index`. Otherwise raises a bad-argument error or "world is closed".
S2LuaWorld *s2_lua_world(lua_State *L, int index);
// Creates and pushes the Lua object of an engine world. The object then owns the engine world.
S2LuaWorld *s2_lua_push_world(lua_State *L);
int s2_lua_worlds(lua_State *L); // Lua function that returns all open worlds, oldest first
void s2_lua_world_attach(S2LuaWorld *lw, S2World *world);
// Closes recordings, adds up statistics and frees the world. It may be called again. Returns false
// if a recording failed.
bool s2_lua_world_close(S2LuaWorld *lw, S2Status *status);
void s2_lua_world_gather(S2LuaWorld *lw);
// Call this after bodies or joints are created, destroyed or restored, so that caches are
// refreshed.
void s2_lua_world_changed(S2LuaWorld *lw);
void s2_lua_new_weak_table(lua_State *L); // pushes a table with weak values
void s2_lua_open_world(lua_State *L);     // Creates the metatables and pushes sim.world.

// Methods of World, by file.
extern const luaL_Reg s2_world_step_methods[];
extern const luaL_Reg s2_world_read_methods[];
// For lua/sim2d/rays.lua. s2_lua_fan_options reads the arguments of world:raycast_fan, and
// s2_lua_fan casts the rays.
int s2_lua_fan_options(lua_State *L);
int s2_lua_fan(lua_State *L);
// For lua/sim2d/control/control_lcs.lua. s2_lua_lcs creates the data of world:lcs, and
// s2_lua_lcs_read reads its coordinates.
int s2_lua_lcs(lua_State *L);
int s2_lua_lcs_read(lua_State *L);
extern const luaL_Reg s2_world_state_methods[];
extern const luaL_Reg s2_world_hook_methods[];
extern const luaL_Reg s2_world_timer_methods[];
extern const luaL_Reg s2_world_create_methods[];
extern const luaL_Reg s2_world_constraint_methods[];
extern const luaL_Reg s2_world_record_methods[];
extern const luaL_Reg s2_annotate_methods[];
extern const luaL_Reg s2_world_problem_methods[];
extern const luaL_Reg s2_world_linearize_methods[];

// ---- fields.c: numbers that have lines in fields.def ------------------------------------------

// Reads a value into a member of a definition.
bool s2_lua_field_read(lua_State *L, int index, const S2Field *field, void *definition,
                       S2Complaint *complaint);
// Reads the value of a key, if present. Raises an error if the value is invalid.
void s2_lua_field_key(const S2Keys *keys, const S2Field *field, void *definition);
void s2_lua_field_push_number(lua_State *L, const S2Field *field, double value);
// `vector` is the name of the field, for messages about assigning to a component of a vector.
void s2_lua_field_push(lua_State *L, const S2Field *field, const void *definition,
                       const char *vector);

extern const char *const s2_setting_names[]; // Ends with NULL.
// Reads the value at `index` into `def`.
bool s2_setting_read(lua_State *L, int index, int setting, S2WorldDef *def, S2Complaint *complaint);
void s2_setting_push(lua_State *L, int setting, const S2WorldDef *def);

// ---- Vectors ----------------------------------------------------------------------------------

typedef enum S2VectorKind {
  S2_VECTOR_XY,
  S2_VECTOR_AXY,      // a, x, y
  S2_VECTOR_VELOCITY, // va, vx, vy
  S2_VECTOR_MOMENTUM, // angular, x, y
  S2_VECTOR_KIND_COUNT
} S2VectorKind;

// `source` names the field that the vector was read from, such as "body.position". Messages show it
// when a script assigns to a component. It is static text or NULL.
void s2_lua_push_vector(lua_State *L, S2VectorKind kind, const double *values, const char *source);
void s2_lua_push_vec2(lua_State *L, S2Vec2 value, const char *source);
// Returns the numbers of the vector at `index` and its kind, or NULL if the value is not a vector.
const double *s2_lua_vector_values(lua_State *L, int index, S2VectorKind *kind, int *size);
void s2_lua_open_vector(lua_State *L);

// ---- Bodies and joints ------------------------------------------------------------------------

typedef struct S2LuaBody {
  const char *type;
  S2LuaWorld *lw; // the user value keeps the world alive
  S2BodyId id;
  char name[S2_NAME_SIZE]; // for messages after the body is destroyed
} S2LuaBody;

typedef struct S2LuaJoint {
  const char *type;
  S2LuaWorld *lw;
  S2JointId id;
  char name[S2_NAME_SIZE];
} S2LuaJoint;

// Pushes the object of a body, or nil for a null handle. `world` is the stack index of the World.
void s2_lua_push_body(lua_State *L, int world, S2BodyId id);
void s2_lua_push_joint(lua_State *L, int world, S2JointId id);
// s2_lua_new_body pushes an object without a handle, and s2_lua_bind_body sets the handle.
S2LuaBody *s2_lua_new_body(lua_State *L, int world);
void s2_lua_bind_body(lua_State *L, int world, S2LuaBody *body, S2BodyId id);
// Returns the living Body at `index`. Otherwise raises an error.
S2LuaBody *s2_lua_body(lua_State *L, int index);
// Like s2_lua_body, but the body must belong to `lw`.
S2LuaBody *s2_lua_body_of(lua_State *L, int index, const S2LuaWorld *lw);
void s2_lua_open_body(lua_State *L);
S2LuaJoint *s2_lua_new_joint(lua_State *L, int world);
void s2_lua_bind_joint(lua_State *L, int world, S2LuaJoint *joint, S2JointId id);
void s2_lua_open_joint(lua_State *L);
// Reads limits {lo, hi}, each of which may be nil or infinite. A value of nil means no limits.
bool s2_lua_limits(lua_State *L, int index, double limits[2], S2Complaint *complaint);

// True if the constructor of this joint type accepts the key.
bool s2_lua_joint_takes(S2JointType type, const char *key);
// Adds world:hinge and the other constructors of joints to the table on top of the stack.
void s2_lua_open_joint_makers(lua_State *L);
void s2_lua_open_coordinates(lua_State *L); // coordinates.c
// Sets joint.angle or joint.translation to argument 3.
int s2_lua_set_coordinate(lua_State *L, const S2LuaJoint *joint, S2JointType type,
                          S2JointField field);
// Sets joint.speed to argument 3.
int s2_lua_set_speed(lua_State *L, const S2LuaJoint *joint);
int s2_lua_speed_by_hand(lua_State *L); // Argument: the function of lua/sim2d/joint_speed.lua.
bool s2_lua_read_bound(const S2Keys *keys, const char *key, double *value);
void s2_lua_read_weights(const S2Keys *keys, const char *key, S2JointWeights *weights);
// Reads the key `stabilization` of a joint, which corrects the error of the joint.
void s2_lua_read_stabilization(const S2Keys *keys, S2JointDef *def);

// constraint.c
bool s2_lua_engine_constraint(void *user, S2World *world, S2ConstraintCall *call);
// True if script functions constrain or move bodies.
bool s2_lua_has_constraints(S2LuaWorld *lw);
// Pops the list of functions on top of the stack and stores it for a joint or body.
void s2_lua_store_functions(lua_State *L, int world, uint32_t serial);

// callbacks.c: calls the C function on the stack above `top` with `arguments` arguments. `sloped`
// requests slopes, for which a tape records. `start` is the clock time before the arguments were
// created. If the call fails, returns false and keeps the error until the step is undone.
bool s2_lua_asked(S2LuaWorld *lw, int top, int arguments, bool sloped, double start);
// Raises an error that shows where the function at stack index `function` is defined.
void s2_lua_wrong_answer(lua_State *L, int function, const char *what);

// motion.c
bool s2_lua_engine_motion(void *user, S2World *world, S2MotionCall *call);
// Reads x, y, angle and velocity of a lock, and pushes its functions.
void s2_lua_read_lock(const S2Keys *keys, S2JointDef *def);
int s2_lua_body_motion(lua_State *L); // The method of Body.

// spring.c
bool s2_lua_engine_spring(void *user, S2World *world, S2SpringCall *call);
// Reads the key `force` of a spring. Returns false if the key is absent.
bool s2_lua_spring_law(const S2Keys *keys, S2JointDef *def);

// world.bodies, world.joints
void s2_lua_open_collection(lua_State *L);
void s2_lua_push_collection(lua_State *L, int world, bool joints);
// An up-to-date list of handles, valid until bodies are created or destroyed.
const S2BodyId *s2_lua_bodies(S2LuaWorld *lw, int *count);
const S2JointId *s2_lua_joints(S2LuaWorld *lw, int *count);

// ---- Callbacks --------------------------------------------------------------------------------

typedef enum S2TimerKind { S2_TIMER_EVERY, S2_TIMER_AT, S2_TIMER_TASK } S2TimerKind;

// A registered function. User value 1 is the function, or the thread of a task. User value 2 is the
// World.
typedef struct S2LuaHandle {
  const char *type;
  S2LuaWorld *lw;
  S2Hook hook;
  bool removed, running;
  uint32_t serial; // serial of the body, for force laws
  S2TimerKind timer;
  double start, period; // seconds; `start` is the time of AT or the wake-up time of TASK
} S2LuaHandle;

// Pops the value on top of the stack and appends it to a list. Pushes and returns its handle.
S2LuaHandle *s2_lua_hook_add(lua_State *L, int world, S2Hook hook, uint32_t serial);
void s2_lua_hook_remove(lua_State *L, S2LuaHandle *handle); // The World is user value 2.
void s2_lua_hooks_sweep(lua_State *L, int world);
// Updates the engine's record of which bodies have force laws, after the world was restored.
void s2_lua_laws_sync(lua_State *L, int world);
void s2_lua_laws_sweep(lua_State *L, int world);
void s2_lua_hooks_copy(lua_State *L, int from, int to); // For clones.
// Calls each function of a list with (world, t, dt).
void s2_lua_hooks_call(lua_State *L, S2LuaWorld *lw, S2Hook hook, double t);
void s2_lua_events_call(lua_State *L, S2LuaWorld *lw);
void s2_lua_engine_callbacks(S2LuaWorld *lw, S2Callbacks *callbacks);
int s2_lua_body_force_law(lua_State *L); // The method of Body.
void s2_lua_open_hooks(lua_State *L);

// contact.c
typedef struct S2LuaContact {
  const char *type;
  S2PreContact *contact; // NULL outside of a call
} S2LuaContact;

S2LuaContact *s2_lua_push_contact(lua_State *L, int world); // pushes the object of the world
void s2_lua_open_contact(lua_State *L);

// warnings.c: warnings about likely mistakes that are not errors (hints.c). They show the script's
// line, once per world.
void s2_lua_hint_degrees(lua_State *L, S2LuaWorld *lw, const char *key, double angle);
void s2_lua_hint_limits(lua_State *L, S2LuaWorld *lw, S2JointType type, double lo, double hi);
// Warns about limits, or a rope length, that exclude the current position of the joint.
void s2_lua_hint_jump(lua_State *L, S2LuaWorld *lw, S2JointId joint, bool rope);
void s2_lua_hint_static_mass(lua_State *L, S2LuaWorld *lw, const S2BodyDef *def);
void s2_lua_hint_all_gone(lua_State *L, S2LuaWorld *lw); // Called at the end of a run.
void s2_lua_warn(S2LuaWorld *lw, const char *message);
void s2_lua_warn_call(lua_State *L, const char *message); // Prints at most once per call.
void s2_lua_warnings_close(S2LuaWorld *lw); // Reports how often warnings recurred, and frees them.

// timers.c
void s2_lua_timers_call(lua_State *L, S2LuaWorld *lw, S2Hook hook, double before, double now);
int s2_lua_wait(lua_State *L);
void s2_lua_open_timers(lua_State *L);

// recording.c
void s2_lua_record_first(lua_State *L, S2LuaWorld *lw); // Starts --record with frame 0.
void s2_lua_record_step(lua_State *L, S2LuaWorld *lw);
bool s2_lua_recorders_close(S2LuaWorld *lw, S2Status *status);
void s2_lua_open_recording(lua_State *L);
S2Status s2_lua_page_close(S2Session *session); // Writes the plots and closes the page.
// For lua/sim2d/plot/plot.lua (see host.h).
int s2_lua_plots_wanted(lua_State *L);
int s2_lua_plot_show(lua_State *L);
int s2_lua_plot_record(lua_State *L);
int s2_lua_record_later(lua_State *L);
int s2_lua_record_next(lua_State *L);
int s2_lua_decided(lua_State *L); // clock decisions (recording.c)
int s2_lua_decide(lua_State *L);
int s2_lua_recording_methods(lua_State *L);
extern const luaL_Reg s2_lua_control_functions[];        // control.c
S2LuaRows *s2_lua_rows_find(S2LuaWorld *lw, int64_t id); // NULL if closed.

// record_columns.c: opens the recording of the key `columns` and pushes its functions. If it
// returns NULL, the status contains the reason. Without a path, no file is written.
S2LuaRows *s2_lua_rows_read(lua_State *L, S2LuaWorld *lw, const S2Keys *keys, const char *path,
                            S2Status *status);
void s2_lua_rows_run(S2LuaRows *rows, const S2Run *run);
// Adds the current state as a row. The world is at stack index 1.
S2Status s2_lua_rows_add(lua_State *L, S2LuaWorld *lw, int64_t id);
S2Status s2_lua_rows_close(S2LuaRows *rows); // also frees `rows`

// data.c
void s2_lua_open_data(lua_State *L); // Pushes sim.data.

// world_read.c: pushes a list of the contacts of a body, or of all bodies if `body` is a null
// handle.
void s2_lua_push_contacts(lua_State *L, int world, S2BodyId body);

// world_state.c
void s2_lua_open_snapshot(lua_State *L);
// (world, snapshot, changes): restores a world that has the same bodies and joints as the snapshot
// (see s2_world_revision and s2_world_image_return). Returns the new number of changes.
int s2_lua_world_rewind(lua_State *L);

// world_step.c: prepares the running function, whose argument 1 is the world, for calls of the
// engine that run callbacks. Raises an error if the world is in a step.
void s2_lua_step_open(lua_State *L, S2LuaWorld *lw, const char *what);
// Raises the error of a callback, the error "interrupted", or the error of the status.
void s2_lua_step_failed(lua_State *L, S2LuaWorld *lw, S2Status status);
void s2_lua_push_guard(lua_State *L, int world);
void s2_lua_open_step(lua_State *L); // creates the metatable of the guard

// ncp.c
void s2_lua_open_ncp(lua_State *L); // Pushes sim.ncp.

// lcp.c
void s2_lua_open_lcp(lua_State *L); // Pushes sim.lcp.

// kkt.c
void s2_lua_open_kkt(lua_State *L); // Pushes sim.kkt.

// mlcp.c, qp.c
void s2_lua_open_mlcp(lua_State *L);            // pushes sim.mlcp
void s2_lua_open_contact_library(lua_State *L); // pushes sim.contact
void s2_lua_open_problem_library(lua_State *L); // pushes sim.problem
void s2_lua_open_qp(lua_State *L);              // pushes sim.qp
void s2_lua_open_lp(lua_State *L);              // pushes sim.lp

#endif
