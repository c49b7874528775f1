/* The functions that python/sim2d calls: a Lua state with the library, which exchanges values as
 * bytes. cffi reads this header unchanged, so it contains plain declarations only. Functions return
 * 0, or 1 after an error, whose text s2_bridge_result returns. Only one thread at a time may use a
 * bridge; separate bridges share no data except for the handler of SIGINT. */

/* Opaque. */
typedef struct S2Bridge S2Bridge;

const char *s2_bridge_version(void);
/* NULL: out of memory. If the library did not open, the first call returns the reason. */
S2Bridge *s2_bridge_open(void);
/* NULL is allowed. */
void s2_bridge_close(S2Bridge *bridge);

/* Calls a function of python/src/bridge.lua with a list of arguments in the format of
 * lua/parallel/pack.h. The result is the packed list of its return values. `catches` as below. */
int s2_bridge_call(S2Bridge *bridge, const char *name, const unsigned char *arguments, size_t size,
                   int catches);
/* The result of the last call; valid until the next one. */
const unsigned char *s2_bridge_result(S2Bridge *bridge, size_t *size);

/* Functions of Python that scripts call. `call` gets the number of the function and its packed list
 * of arguments. It passes a packed list of results to s2_bridge_answer and returns 0, or passes the
 * text of an error and returns 1. It may call the functions above for the same bridge. */
typedef int (*S2BridgeCallback)(long long number, const unsigned char *arguments, size_t size);
void s2_bridge_callback(S2Bridge *bridge, S2BridgeCallback call);
void s2_bridge_answer(S2Bridge *bridge, const unsigned char *data, size_t size);

/* The number of such functions that are running now. */
int s2_bridge_depth(const S2Bridge *bridge);

/* Calls with `catches` end with the error "interrupted" at SIGINT, and then the handler that the
 * process had before handles the signal, too. Only one thread of a process may make such calls.
 * s2_bridge_interrupted returns 1 if the last call or a running call was interrupted. */
int s2_bridge_interrupted(const S2Bridge *bridge);

/* Runs the exchange with this number, which bridge.lua has made: it takes the numbers `in` and
 * fills `out`. The counts must equal those given when the exchange was made. */
int s2_bridge_exchange(S2Bridge *bridge, int exchange, const double *in, size_t in_count,
                       double *out, size_t out_count, int catches);
