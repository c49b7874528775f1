// What the live viewer's server understands of HTTP and websockets: pure functions of bytes that
// come from anybody.
#ifndef S2_HTTP_H
#define S2_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A request without a body. Texts lie in the bytes that were read; NULL: there is none.
typedef struct S2HttpRequest {
  const char *method, *path;
  const char *query; // behind the ?
  const char *host, *origin;
  const char *socket_key, *socket_version;
  bool upgrades; // asks for a websocket
} S2HttpRequest;

// The size of a head with the empty line that ends it; 0: that has not come yet.
size_t s2_http_head_size(const char *bytes, size_t count);

// Reads the head, which it changes. False: it is none that a browser sends; it is to be answered
// with 400. Whoever may send something that another program understands in another way is refused:
// two headers of a name, continued lines, a body.
bool s2_http_read(char *head, size_t size, S2HttpRequest *request);

// The value of `name` in the query, as long as `size` (with its 0) at most; false: none, or longer.
bool s2_http_value(const char *query, const char *name, char *value, size_t size);

// ---- Websockets (RFC 6455) --------------------------------------------------------------------

enum {
  S2_SOCKET_KEY = 24,      // characters of the client's key
  S2_SOCKET_ACCEPT = 29,   // bytes of the answer to it, with the final 0
  S2_SOCKET_HEADER = 10,   // bytes at most that come before what we send
  S2_SOCKET_CONTROL = 125, // bytes of a control frame at most
};

typedef enum S2SocketOpcode {
  S2_SOCKET_TEXT = 1,
  S2_SOCKET_BINARY = 2,
  S2_SOCKET_CLOSE = 8,
  S2_SOCKET_PING = 9,
  S2_SOCKET_PONG = 10
} S2SocketOpcode;

// Reasons to close
typedef enum S2SocketEnd {
  S2_SOCKET_NORMAL = 1000,
  S2_SOCKET_GOING_AWAY = 1001,
  S2_SOCKET_WRONG = 1002,   // breaks the protocol
  S2_SOCKET_UNKNOWN = 1003, // a kind of message that is not taken
  S2_SOCKET_REFUSED = 1008, // what it says is not taken
  S2_SOCKET_TOO_LONG = 1009,
} S2SocketEnd;

void s2_socket_accept(const char *key, char accept[S2_SOCKET_ACCEPT]);

typedef struct S2SocketFrame {
  int opcode;
  unsigned char *payload; // in the bytes that were read
  size_t size;
  size_t whole; // bytes of the frame with its header
} S2SocketFrame;

// Reads the first frame of a client, unmasking it where it lies. 0: `frame` is there, or is not
// complete (whole is 0); else why the connection has to end. A frame whose payload is longer than
// `most` bytes is refused by its header, before it has come.
int s2_socket_read(unsigned char *bytes, size_t count, size_t most, S2SocketFrame *frame);

// The header of a frame of ours; its size.
size_t s2_socket_header(S2SocketOpcode opcode, size_t size, unsigned char header[S2_SOCKET_HEADER]);

#endif
