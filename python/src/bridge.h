/* What python/sim2d calls: a Lua state with the library in it, and values in and out as bytes. cffi
 * reads this header as it is, so it holds plain declarations only. Functions return 0, or 1 where
 * what went wrong is the text of s2_bridge_result. A bridge is for one thread at a time; several
 * bridges share nothing. */

/* Opaque. */
typedef struct S2Bridge S2Bridge;

const char *s2_bridge_version(void);
/* NULL: memory has run out. A bridge whose library did not open says why in its first call. */
S2Bridge *s2_bridge_open(void);
/* NULL: nothing. */
void s2_bridge_close(S2Bridge *bridge);

/* Calls a function of python/src/bridge.lua with a list of arguments as lua/parallel/pack.h packs
 * it. The result is the packed list of what it returned. */
int s2_bridge_call(S2Bridge *bridge, const char *name, const unsigned char *arguments, size_t size);
/* Of the last call; until the next one. */
const unsigned char *s2_bridge_result(S2Bridge *bridge, size_t *size);

/* Runs the exchange with this number, which bridge.lua has made: numbers go in, it runs, numbers
 * come out. The counts have to be those it was made with. */
int s2_bridge_exchange(S2Bridge *bridge, int exchange, const double *in, size_t in_count,
                       double *out, size_t out_count);
