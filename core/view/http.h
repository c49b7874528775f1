// The subset of HTTP and websockets that the live viewer's server supports. These functions only
// read and write bytes in memory.
#ifndef S2_HTTP_H
#define S2_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A request without a body. Texts point into the bytes that were read, or are NULL if absent.
typedef struct S2HttpRequest {
  const char *method, *path;
  const char *query; // the part after the "?"
  const char *host, *origin;
  const char *socket_key, *socket_version;
  bool upgrades; // requests a websocket
} S2HttpRequest;

// Returns the size of a head, including the empty line at its end, or 0 if it is incomplete.
size_t s2_http_head_size(const char *bytes, size_t count);

// Reads the head, and changes it in place. Returns false if the head is invalid, so that the caller
// answers with 400. Also rejects heads that other programs might read differently, for example with
// repeated headers, continued lines or a body.
bool s2_http_read(char *head, size_t size, S2HttpRequest *request);

// Finds the value of `name` in the query. Returns false if it is missing, or longer than `size`
// bytes including its final 0.
bool s2_http_value(const char *query, const char *name, char *value, size_t size);

// ---- Websockets (RFC 6455) --------------------------------------------------------------------

enum {
  S2_SOCKET_KEY = 24,      // number of characters of the client's key
  S2_SOCKET_ACCEPT = 29,   // bytes of the answer to the key, including the final 0
  S2_SOCKET_HEADER = 10,   // maximum size of the header of a frame from the server in bytes
  S2_SOCKET_CONTROL = 125, // maximum number of data bytes in a control frame
};

typedef enum S2SocketOpcode {
  S2_SOCKET_TEXT = 1,
  S2_SOCKET_BINARY = 2,
  S2_SOCKET_CLOSE = 8,
  S2_SOCKET_PING = 9,
  S2_SOCKET_PONG = 10
} S2SocketOpcode;

// Reasons to close a connection.
typedef enum S2SocketEnd {
  S2_SOCKET_NORMAL = 1000,
  S2_SOCKET_GOING_AWAY = 1001,
  S2_SOCKET_WRONG = 1002,   // a violation of the protocol
  S2_SOCKET_UNKNOWN = 1003, // a kind of message that is not supported
  S2_SOCKET_REFUSED = 1008, // the contents are refused
  S2_SOCKET_TOO_LONG = 1009,
} S2SocketEnd;

void s2_socket_accept(const char *key, char accept[S2_SOCKET_ACCEPT]);

typedef struct S2SocketFrame {
  int opcode;
  unsigned char *payload; // points into the bytes that were read
  size_t size;
  size_t whole; // bytes of the frame, including its header
} S2SocketFrame;

// Reads the first frame in the bytes of a client, and unmasks it in place. If the frame is
// incomplete, sets `whole` to 0. Returns 0, or the reason to close the connection. Frames with a
// payload of more than `most` bytes are rejected as soon as their header has arrived.
int s2_socket_read(unsigned char *bytes, size_t count, size_t most, S2SocketFrame *frame);

// Writes the header of a frame from the server. Returns its size.
size_t s2_socket_header(S2SocketOpcode opcode, size_t size, unsigned char header[S2_SOCKET_HEADER]);

#endif
