// The server of the live viewer: one page and one websocket on the loopback interface.
//
// It runs on its own thread and does not use the world. The simulation's thread posts messages and
// takes the commands of clients. Neither thread waits for clients. Only the newest message of each
// kind is stored, so memory is bounded, and slow clients get fewer messages. New clients get the
// stored messages immediately.
#ifndef S2_SERVER_H
#define S2_SERVER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct S2Server S2Server;

// Messages to clients, sent in this order. Binary messages are bytes of a .s2d file; text messages
// are JSON.
typedef enum S2ServerMessage {
  S2_SERVER_STATE,    // text: pause, pace, worlds ...
  S2_SERVER_CONTROLS, // text: sliders, buttons, options ...
  S2_SERVER_SCENE,    // binary: header of a .s2d file and a scene
  S2_SERVER_FRAME,    // binary: a frame that does not depend on earlier frames
  S2_SERVER_WATCH,    // text: present values of displayed quantities
  S2_SERVER_PLOTS,    // text: plots of the script, as SVG
  S2_SERVER_NOTICE,   // text: errors
  S2_SERVER_MESSAGES
} S2ServerMessage;

enum {
  S2_SERVER_CLIENTS = 8,  // maximum number of clients. Others are refused
  S2_SERVER_COMMAND = 512 // bytes, including the final 0. Longer commands end the connection
};

// A command of a client, which consists of printable words separated by blanks. "gone" reports that
// the client has disconnected.
typedef struct S2ServerCommand {
  int client; // 0 ... S2_SERVER_CLIENTS - 1
  char text[S2_SERVER_COMMAND];
} S2ServerCommand;

// Serves `page` (borrowed) at a free port, or at `port` if it is not 0. Returns S2_IO if the port
// is in use.
S2Status s2_server_open(int port, const unsigned char *page, size_t size, S2Server **server);
void s2_server_close(S2Server *server); // NULL is allowed.

// Returns the address http://127.0.0.1:PORT/?token=... of the page. Every request must contain the
// secret token.
const char *s2_server_address(const S2Server *server);
int s2_server_client_count(S2Server *server);

// Replaces the message of this kind with a copy of the given one. A new scene also removes the
// stored frame.
void s2_server_put(S2Server *server, S2ServerMessage message, const void *bytes, size_t size);

// Takes the oldest waiting command. Returns false if there is none.
bool s2_server_take(S2Server *server, S2ServerCommand *command);
// Waits for a command until `time` (s, CLOCK_MONOTONIC). Returns true if there is one.
bool s2_server_wait(S2Server *server, double time);

#endif
