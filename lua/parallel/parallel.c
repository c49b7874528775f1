#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): sched_getaffinity
#include "lua/parallel/parallel.h"

#include "base/sha256.h"
#include "linalg/dense.h"
#include "lua/base/errors.h"
#include "lua/diff/array.h"
#include "lua/parallel/journal.h"
#include "lua/parallel/machines.h"
#include "lua/parallel/pool.h"
#include "lua/world/binding.h"
#include "record/page/html.h"
#include "record/page/page.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char BYTES[] = "sim2d.Bytes", POOL[] = "sim2d.Pool", JOURNAL[] = "sim2d.Journal";

// ---- Values -----------------------------------------------------------------------------------

static int bytes_collect(lua_State *L) {
  s2_bytes_free(luaL_checkudata(L, 1, BYTES));
  return 0;
}

// Pushes bytes that are freed with their Lua object, even after an error.
static S2Bytes *push_bytes(lua_State *L) {
  S2Bytes *bytes = lua_newuserdatauv(L, sizeof *bytes, 0);
  *bytes = (S2Bytes){0};
  if (luaL_newmetatable(L, BYTES)) {
    lua_pushcfunction(L, bytes_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return bytes;
}

static int host_pack(lua_State *L) {
  const char *what = luaL_checkstring(L, 2);
  S2Bytes *bytes = push_bytes(L);
  S2Complaint complaint;
  if (!s2_pack_value(L, 1, what, bytes, &complaint)) {
    lua_pushstring(L, complaint.text);
    return lua_error(L);
  }
  lua_pushlstring(L, (const char *)bytes->at, bytes->count);
  s2_bytes_free(bytes); // free now, because the collector may only run in a later job
  return 1;
}

static int host_unpack(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  if (!s2_unpack_value(L, (const unsigned char *)text, size)) {
    return luaL_error(L, "these bytes are not a packed value");
  }
  return 1;
}

static int host_hash(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  char digits[S2_SHA256_SIZE];
  S2Sha256 hash = {0};
  s2_sha256_add(&hash, text, size);
  s2_sha256_end(&hash, digits);
  lua_pushstring(L, digits);
  return 1;
}

static int host_machines(lua_State *L) {
  lua_pushinteger(L, s2_machines_count());
  return 1;
}

static int host_threads(lua_State *L) {
  if (s2_session(L)->threads > 0) {
    lua_pushinteger(L, s2_session(L)->threads);
    return 1;
  }
  if (s2_machines_count() > 1) { // mpirun starts one process per core
    lua_pushinteger(L, 1);
    return 1;
  }
  long count = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t set; // cores that taskset, a container or Slurm allows
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    count = CPU_COUNT(&set);
  }
#endif
  lua_pushinteger(L, count < 1 ? 1 : (lua_Integer)count);
  return 1;
}

static int host_seed(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)s2_session(L)->seed);
  return 1;
}

// Pushes a separate generator, which leaves sim.random unchanged.
static int host_generator(lua_State *L) {
  lua_Integer seed = luaL_checkinteger(L, 1);
  S2LuaRandom *random = lua_newuserdatauv(L, sizeof *random, 0);
  *random = (S2LuaRandom){s2_type_random, s2_rng_seeded((uint64_t)seed)};
  luaL_setmetatable(L, "sim2d.Random");
  return 1;
}

// Pushes a list of numbers as an array. A nan marks a run that failed.
static int host_array(lua_State *L) {
  lua_Integer count = luaL_len(L, 1);
  luaL_argcheck(L, count >= 1 && count <= INT32_MAX, 1, "a list of numbers expected");
  S2LuaArray *array = s2_lua_array_push(L, (S2Size){.axes = 1, .rows = 1, .columns = (int)count});
  for (lua_Integer i = 0; i < count; i++) {
    lua_geti(L, 1, i + 1);
    array->data[i] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
  return 1;
}

static int host_base64(lua_State *L) {
  size_t size;
  const char *bytes = luaL_checklstring(L, 1, &size);
  luaL_Buffer text;
  unsigned char *room = (unsigned char *)luaL_buffinitsize(L, &text, s2_html_encoded(size) + 1);
  s2_html_encode(room, (const unsigned char *)bytes, size);
  luaL_pushresultsize(&text, s2_html_encoded(size));
  return 1;
}

static int host_make_folder(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  if (mkdir(path, 0777) != 0 && errno != EEXIST) {
    lua_pushnil(L);
    lua_pushfstring(L, "cannot make the folder '%s': %s", path, strerror(errno));
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

// Returns the player page without a recording, or nil and the reason why there is none.
static int host_page(lua_State *L) {
  S2Status status = s2_html_available();
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  size_t size = 0;
  const unsigned char *page = s2_page_bytes(&size);
  lua_pushlstring(L, (const char *)page, size);
  return 1;
}

// ---- Pools ------------------------------------------------------------------------------------

typedef struct PoolObject {
  S2Pool *pool;         // NULL: closed
  S2Machines *machines; // NULL: only this process
} PoolObject;

// Time between two polls for messages of machines (s).
static const double MACHINES_LOOK = 5e-4;

static PoolObject *check_pool(lua_State *L) {
  PoolObject *object = luaL_checkudata(L, 1, POOL);
  luaL_argcheck(L, object->pool != NULL, 1, "the pool is closed");
  return object;
}

static int pool_submit(lua_State *L) {
  S2Pool *pool = check_pool(L)->pool;
  size_t size;
  lua_Integer number = luaL_checkinteger(L, 2);
  const char *item = luaL_checklstring(L, 3, &size);
  S2Job *job = s2_job_new((uint64_t)number);
  s2_bytes_add(&job->bytes, item, size);
  s2_pool_submit(pool, job);
  return 0;
}

// The next finished job, from this process or another machine. NULL after `timeout` seconds.
static S2Job *pool_await(PoolObject *object, double timeout, bool *broken) {
  if (object->machines == NULL) {
    return s2_pool_collect(object->pool, timeout, broken);
  }
  double end = s2_lua_clock() + timeout;
  S2Job *job;
  do {
    s2_machines_exchange(object->machines, object->pool);
    job = s2_pool_collect(object->pool, MACHINES_LOOK, broken);
  } while (job == NULL && s2_lua_clock() < end);
  return job;
}

static int pool_collect(lua_State *L) {
  PoolObject *object = check_pool(L);
  bool broken;
  S2Job *job = pool_await(object, luaL_checknumber(L, 2), &broken);
  if (job == NULL) {
    return 0;
  }
  // Copy the item into bytes that Lua owns, before anything can raise an error.
  S2Bytes *bytes = push_bytes(L);
  S2Job done = *job;
  *bytes = done.bytes;
  job->bytes = (S2Bytes){0};
  s2_job_free(job);
  if (broken) {
    lua_pushnil(L);
    lua_pushlstring(L, (const char *)bytes->at, bytes->count);
    return 2;
  }
  lua_pushinteger(L, (lua_Integer)done.number);
  lua_pushboolean(L, !done.failed);
  lua_pushlstring(L, (const char *)bytes->at, bytes->count);
  lua_pushnumber(L, done.seconds);
  s2_bytes_free(bytes);
  return 4;
}

static int pool_close(lua_State *L) {
  PoolObject *object = luaL_checkudata(L, 1, POOL);
  if (object->pool != NULL) {
    S2Pool *pool = object->pool;
    object->pool = NULL;
    s2_machines_close(object->machines);
    s2_pool_close(pool);
  }
  return 0;
}

static int host_pool(lua_State *L) {
  S2JobSetup setup = {.time_limit = luaL_checknumber(L, 3), .like = *s2_session(L)};
  setup.program = (const unsigned char *)luaL_checklstring(L, 1, &setup.size);
  lua_Integer threads = luaL_checkinteger(L, 2);
  PoolObject *object = lua_newuserdatauv(L, sizeof *object, 0);
  *object = (PoolObject){0};
  if (luaL_newmetatable(L, POOL)) {
    static const luaL_Reg methods[] = {
        {"submit", pool_submit}, {"collect", pool_collect}, {"close", pool_close}, {NULL, NULL}};
    static const luaL_Reg meta[] = {{"__close", pool_close}, {"__gc", pool_close}, {NULL, NULL}};
    luaL_setfuncs(L, meta, 0);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  s2_dense_single_threaded(); // must run before the first thread starts
  object->pool = s2_pool_open(&setup, (int)threads);
  object->machines = s2_machines_open(&setup, (int)threads);
  return 1;
}

// ---- Journals ---------------------------------------------------------------------------------

typedef struct JournalObject {
  S2Journal *journal; // NULL: closed
} JournalObject;

static S2Journal *check_journal(lua_State *L) {
  const JournalObject *object = luaL_checkudata(L, 1, JOURNAL);
  luaL_argcheck(L, object->journal != NULL, 1, "the journal is closed");
  return object->journal;
}

static int journal_next(lua_State *L) {
  S2Journal *journal = check_journal(L);
  S2Bytes *bytes = push_bytes(L);
  uint64_t number = 0, lost = 0;
  if (!s2_journal_next(journal, &number, bytes, &lost)) {
    lua_pushnil(L);
    lua_pushinteger(L, (lua_Integer)lost);
    return 2;
  }
  lua_pushinteger(L, (lua_Integer)number);
  lua_pushlstring(L, (const char *)bytes->at, bytes->count);
  s2_bytes_free(bytes);
  return 2;
}

static int journal_add(lua_State *L) {
  S2Journal *journal = check_journal(L);
  size_t size;
  lua_Integer number = luaL_checkinteger(L, 2);
  const char *data = luaL_checklstring(L, 3, &size);
  S2Status status = s2_journal_add(journal, (uint64_t)number, data, size);
  if (status.code != S2_OK) {
    lua_pushstring(L, status.message);
    return lua_error(L);
  }
  return 0;
}

static int journal_close(lua_State *L) {
  JournalObject *object = luaL_checkudata(L, 1, JOURNAL);
  s2_journal_close(object->journal);
  object->journal = NULL;
  return 0;
}

static int host_journal(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  JournalObject *object = lua_newuserdatauv(L, sizeof *object, 0);
  *object = (JournalObject){0};
  if (luaL_newmetatable(L, JOURNAL)) {
    static const luaL_Reg methods[] = {
        {"next", journal_next}, {"add", journal_add}, {"close", journal_close}, {NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__close", journal_close}, {"__gc", journal_close}, {NULL, NULL}};
    luaL_setfuncs(L, meta, 0);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  S2Status status = s2_journal_open(path, &object->journal);
  if (status.code != S2_OK) {
    lua_pushnil(L);
    lua_pushstring(L, status.message);
    return 2;
  }
  return 1;
}

void s2_parallel_push(lua_State *L) {
  static const luaL_Reg functions[] = {{"job_entry", s2_job_entry},
                                       {"job_begin", s2_job_begin},
                                       {"job_script", s2_job_script},
                                       {"pack", host_pack},
                                       {"unpack", host_unpack},
                                       {"hash", host_hash},
                                       {"threads", host_threads},
                                       {"seed", host_seed},
                                       {"generator", host_generator},
                                       {"array", host_array},
                                       {"base64", host_base64},
                                       {"page", host_page},
                                       {"make_folder", host_make_folder},
                                       {"machines", host_machines},
                                       {"pool", host_pool},
                                       {"journal", host_journal},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
}
