// The subset of HTTP and websockets that the live viewer's server supports: pure functions of bytes
// from any source.
#ifndef S2_HTTP_H
#define S2_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A request without a body. Texts point into the bytes that were read; NULL: absent.
typedef struct S2HttpRequest {
  const char *method, *path;
  const char *query; // the part after the ?
  const char *host, *origin;
  const char *socket_key, *socket_version;
  bool upgrades; // requests a websocket
} S2HttpRequest;

// The size of a head including the empty line at its end; 0: it is not complete yet.
size_t s2_http_head_size(const char *bytes, size_t count);

// Reads the head, and changes it in place. False: no browser sends such a head; answer with 400.
// The function also refuses heads that other programs might read differently: two headers of the
// same name, continued lines, a body.
bool s2_http_read(char *head, size_t size, S2HttpRequest *request);

// The value of `name` in the query, at most `size` bytes with its 0. False: it is missing or
// longer.
bool s2_http_value(const char *query, const char *name, char *value, size_t size);

// ---- Websockets (RFC 6455) --------------------------------------------------------------------

enum {
  S2_SOCKET_KEY = 24,      // characters of the client's key
  S2_SOCKET_ACCEPT = 29,   // bytes of the answer to it, with the final 0
  S2_SOCKET_HEADER = 10,   // most bytes before the data that we send
  S2_SOCKET_CONTROL = 125, // most bytes of a control frame
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
  S2_SOCKET_WRONG = 1002,   // a violation of the protocol
  S2_SOCKET_UNKNOWN = 1003, // a kind of message that is not supported
  S2_SOCKET_REFUSED = 1008, // its contents are refused
  S2_SOCKET_TOO_LONG = 1009,
} S2SocketEnd;

void s2_socket_accept(const char *key, char accept[S2_SOCKET_ACCEPT]);

typedef struct S2SocketFrame {
  int opcode;
  unsigned char *payload; // in the bytes that were read
  size_t size;
  size_t whole; // bytes of the frame with its header
} S2SocketFrame;

// Reads the first frame of a client, and unmasks it in place. Returns 0 if `frame` was read, or if
// it is not complete (then whole is 0). Otherwise it returns the reason to close the connection. A
// frame whose payload is longer than `most` bytes is refused from its header, before it has
// arrived.
int s2_socket_read(unsigned char *bytes, size_t count, size_t most, S2SocketFrame *frame);

// Writes the header of a frame of ours; returns its size.
size_t s2_socket_header(S2SocketOpcode opcode, size_t size, unsigned char header[S2_SOCKET_HEADER]);

#endif
