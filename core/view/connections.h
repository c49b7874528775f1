// The data that both parts of the live viewer's server share. The simulation calls server.c, and
// connections.c runs on the server's thread.
#ifndef S2_CONNECTIONS_H
#define S2_CONNECTIONS_H

#include "base/memory.h"
#include "view/http.h"
#include "view/server.h"

#include <pthread.h>
#include <stdint.h>

enum {
  S2_SERVER_TOKEN = 33,  // bytes, including the final 0
  S2_SERVER_QUEUE = 256, // commands. A new move of the hand replaces the waiting one
  // Maximum number of connections. If all places are taken, a new connection replaces the oldest
  // one that is not a client. So silent connections cannot keep a page from loading.
  S2_SERVER_PLACES = 64,
  S2_SERVER_REQUEST = 16384, // bytes, with space for the cookies of all pages of this host
};

typedef struct S2ServerKept {
  unsigned char *at;
  size_t size, capacity;
  uint64_t number; // number of the call that put the message, or 0
} S2ServerKept;

typedef enum S2ConnectionState {
  S2_CONNECTION_READING,   // receiving a request
  S2_CONNECTION_ANSWERING, // sending an answer before closing
  S2_CONNECTION_CLIENT,
  S2_CONNECTION_ENDING, // all output has been sent. Input is discarded until the other side closes
} S2ConnectionState;

// A connection. Used only by the server's thread.
typedef struct S2Connection {
  int socket; // -1 marks a free place
  S2ConnectionState state;
  uint64_t number; // number in the order of arrival
  double since;    // s, time of arrival or of the last progress
  double heard;    // s, time of the last input from the client
  bool pinged;     // true if a ping was sent after that time
  int client;
  int end; // S2SocketEnd to send to the client, or 0 while the connection remains open
  bool owes_pong;
  unsigned char pong[S2_SOCKET_CONTROL];
  size_t pong_size;
  uint64_t told[S2_SERVER_MESSAGES]; // numbers of the messages that the client has received
  S2ServerKept out;                  // output to send
  const unsigned char *page;         // sent after `out`, or NULL
  size_t page_size, sent;            // `sent` counts the bytes of `out` and `page`
  unsigned char in[S2_SERVER_REQUEST];
  size_t got;
} S2Connection;

typedef struct S2ServerClient {
  bool taken;
  bool gone; // the simulation does not know yet that the client has gone, so the place is not free
} S2ServerClient;

struct S2Server {
  const unsigned char *page;
  size_t page_size;
  int port;
  char token[S2_SERVER_TOKEN], address[100];
  pthread_t thread;
  bool serving; // true if the thread exists

  // Used only by the server's thread
  int listener;
  double deaf; // s, no connection is accepted before this time
  uint64_t count_connections;
  S2Connection connections[S2_SERVER_PLACES];

  int wake[2]; // pipe, in which a byte wakes the thread

  pthread_mutex_t mutex; // protects all members below
  pthread_cond_t asked;  // a command
  S2ServerKept messages[S2_SERVER_MESSAGES];
  uint64_t puts;
  S2ServerClient clients[S2_SERVER_CLIENTS];
  S2ServerCommand queue[S2_SERVER_QUEUE];
  int first, count;
  bool woken;   // true if the pipe contains a byte
  bool closing; // asks the thread to end
};

// The function of the server's thread: serves connections until the server closes.
void *s2_connections_serve(void *server);
// Makes a file descriptor non-blocking, and closes it on exec.
bool s2_connections_set_flags(int file);

static inline void s2_server_make_room(S2ServerKept *message, size_t size) {
  if (size > message->capacity) {
    message->capacity = size + size / 2;
    message->at = s2_memory_grow(message->at, message->capacity);
  }
}

#endif
