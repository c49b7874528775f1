// A single thread serves all connections and never waits for one of them, so a bad client can only
// block itself. Requests and frames are read into buffers of fixed size.
#include "view/connections.h"

#include "view/http.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 // macOS has no MSG_NOSIGNAL and uses SO_NOSIGPIPE
#endif

enum { HOST_SIZE = 64 }; // bytes.

// s
static const double REQUEST_TIME = 5;  // s, until a request must be complete
static const double ANSWER_TIME = 5;   // s, until an answer that makes no progress is given up
static const double MESSAGE_TIME = 10; // s, until a message that makes no progress is given up
static const double QUIET_TIME = 10;   // s, until a silent client gets a ping
static const double SILENT_TIME = 30;  // s, until a silent client is dropped
static const double END_TIME = 1;      // s, until the other side must close
static const double LEAVE_TIME = 0.1;  // s, for all connections when the server closes
static const double DEAF_TIME = 0.1;   // s, until the next attempt if the system has no free socket

static double clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- Access -----------------------------------------------------------------------------------

static bool same_secret(const char *a, const char *b) {
  if (strlen(a) != strlen(b)) {
    return false;
  }
  unsigned difference = 0; // always compare all characters, so that the time reveals nothing
  for (size_t i = 0; a[i] != '\0'; i++) {
    difference |= (unsigned)(a[i] ^ b[i]);
  }
  return difference == 0;
}

// Rejects pages of other sites. A site can resolve its name to 127.0.0.1, but its pages send that
// name in Host or Origin.
static bool may_enter(const S2Server *server, const S2HttpRequest *request) {
  char hosts[2][HOST_SIZE], token[S2_SERVER_TOKEN] = "";
  snprintf(hosts[0], HOST_SIZE, "127.0.0.1:%d", server->port);
  snprintf(hosts[1], HOST_SIZE, "localhost:%d", server->port);
  const char *host = request->host, *origin = request->origin;
  if (host == NULL || (strcmp(host, hosts[0]) != 0 && strcmp(host, hosts[1]) != 0) ||
      (origin != NULL && (strncmp(origin, "http://", 7) != 0 || strcmp(origin + 7, host) != 0))) {
    return false;
  }
  return s2_http_value(request->query, "token", token, sizeof token) &&
         same_secret(token, server->token);
}

// ---- Sending ----------------------------------------------------------------------------------

static bool is_sending(const S2Connection *connection) {
  return connection->sent < connection->out.size + connection->page_size;
}

static void send_frame(S2Connection *connection, S2SocketOpcode opcode, const void *bytes,
                       size_t size, double now) {
  unsigned char header[S2_SOCKET_HEADER];
  size_t before = s2_socket_header(opcode, size, header);
  S2ServerKept *out = &connection->out;
  s2_server_make_room(out, before + size);
  memcpy(out->at, header, before);
  if (size > 0) {
    memcpy(out->at + before, bytes, size);
  }
  out->size = before + size;
  connection->sent = 0;
  connection->since = now;
}

// Starts sending the first message that the client has not received. Returns false if there is
// none.
static bool send_news(S2Server *server, S2Connection *connection, double now) {
  bool found = false;
  pthread_mutex_lock(&server->mutex);
  for (int i = 0; i < S2_SERVER_MESSAGES && !found; i++) {
    const S2ServerKept *message = &server->messages[i];
    if (message->number > connection->told[i]) {
      connection->told[i] = message->number;
      bool binary = i == S2_SERVER_SCENE || i == S2_SERVER_FRAME;
      found = message->size > 0;
      if (found) {
        send_frame(connection, binary ? S2_SOCKET_BINARY : S2_SOCKET_TEXT, message->at,
                   message->size, now);
      }
    }
  }
  pthread_mutex_unlock(&server->mutex);
  return found;
}

static void connection_release(S2Server *server, S2Connection *connection) {
  pthread_mutex_lock(&server->mutex);
  server->clients[connection->client] = (S2ServerClient){.gone = true};
  pthread_cond_signal(&server->asked);
  pthread_mutex_unlock(&server->mutex);
}

static void say_goodbye(S2Server *server, S2Connection *connection, double now) {
  const unsigned char reason[2] = {(unsigned char)(connection->end >> 8),
                                   (unsigned char)connection->end};
  send_frame(connection, S2_SOCKET_CLOSE, reason, sizeof reason, now);
  connection_release(server, connection);
  connection->state = S2_CONNECTION_ANSWERING;
}

// Starts the next output to a client, unless earlier output is still being sent.
static void send_next(S2Server *server, S2Connection *connection, double now) {
  if (connection->state != S2_CONNECTION_CLIENT || is_sending(connection)) {
    return;
  }
  if (connection->end != 0) {
    say_goodbye(server, connection, now);
  } else if (connection->owes_pong) {
    send_frame(connection, S2_SOCKET_PONG, connection->pong, connection->pong_size, now);
    connection->owes_pong = false;
  } else {
    (void)send_news(server, connection, now);
  }
}

static void connection_answer(S2Connection *connection, const char *status, const char *headers,
                              const unsigned char *page, size_t page_size) {
  enum { MOST = 1024 };
  S2ServerKept *out = &connection->out;
  s2_server_make_room(out, MOST);
  int size = snprintf((char *)out->at, MOST,
                      "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nCache-Control: no-store\r\n"
                      "Connection: close\r\n\r\n",
                      status, headers, page_size);
  out->size = (size_t)size;
  connection->sent = 0;
  connection->page = page;
  connection->page_size = page_size;
  connection->state = S2_CONNECTION_ANSWERING;
}

static void connection_refuse(S2Connection *connection, const char *status, const char *reason) {
  connection_answer(connection, status,
                    strncmp(status, "426", 3) == 0
                        ? "Content-Type: text/plain; charset=utf-8\r\nSec-WebSocket-Version: 13\r\n"
                        : "Content-Type: text/plain; charset=utf-8\r\n",
                    (const unsigned char *)reason, strlen(reason));
}

// ---- Requests ---------------------------------------------------------------------------------

static void serve_page(const S2Server *server, S2Connection *connection) {
  connection_answer(
      connection, "200 OK",
      "Content-Type: text/html; charset=utf-8\r\nReferrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self'\r\n",
      server->page, server->page_size);
}

static int take_place(S2Server *server) {
  int place = -1;
  pthread_mutex_lock(&server->mutex);
  for (int i = 0; i < S2_SERVER_CLIENTS && place < 0; i++) {
    if (!server->clients[i].taken && !server->clients[i].gone) {
      place = i;
      server->clients[i].taken = true;
    }
  }
  pthread_mutex_unlock(&server->mutex);
  return place;
}

static void open_client(S2Server *server, S2Connection *connection, const S2HttpRequest *request,
                        double now) {
  static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  enum { MOST = 200 };
  // Check the handshake (RFC 6455, 4.2.1). Refuse an invalid one with a reason.
  const char *key = request->socket_key;
  if (request->socket_version == NULL || strcmp(request->socket_version, "13") != 0) {
    connection_refuse(connection, "426 Upgrade Required",
                      "sim2d: only version 13 of websockets is supported\n");
    return;
  }
  if (key == NULL || strlen(key) != S2_SOCKET_KEY || strspn(key, base64) != S2_SOCKET_KEY) {
    connection_refuse(connection, "400 Bad Request", "sim2d: Sec-WebSocket-Key is missing\n");
    return;
  }
  // Reserve a place for the client.
  connection->client = take_place(server);
  if (connection->client < 0) {
    connection_refuse(connection, "503 Service Unavailable",
                      "sim2d: too many pages are watching this run\n");
    return;
  }
  // Prove that the server has received the key.
  char accept[S2_SOCKET_ACCEPT];
  s2_socket_accept(key, accept);
  S2ServerKept *out = &connection->out;
  s2_server_make_room(out, MOST);
  out->size = (size_t)snprintf((char *)out->at, MOST,
                               "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                               accept);
  connection->state = S2_CONNECTION_CLIENT;
  connection->since = connection->heard = now;
}

static void obey_request(S2Server *server, S2Connection *connection, size_t size, double now) {
  S2HttpRequest request;
  connection->since = now;
  // Refuse invalid requests, missing access, unknown paths and wrong methods, in this order.
  if (!s2_http_read((char *)connection->in, size, &request)) {
    connection_refuse(connection, "400 Bad Request", "sim2d: this is not an HTTP request\n");
  } else if (!may_enter(server, &request)) {
    connection_refuse(connection, "403 Forbidden",
                      "sim2d: open the whole address that was printed, including its ?token=...\n");
  } else if (strcmp(request.path, "/live") == 0 && request.upgrades) {
    open_client(server, connection, &request, now);
  } else if (strcmp(request.path, "/") != 0) {
    connection_refuse(connection, "404 Not Found", "sim2d: there is no page at this address\n");
  } else if (strcmp(request.method, "GET") != 0) {
    connection_refuse(connection, "405 Method Not Allowed", "sim2d: only GET is supported\n");
  } else {
    serve_page(server, connection);
  }
  // Keep the bytes that follow the head.
  connection->got -= size;
  memmove(connection->in, connection->in + size, connection->got);
}

// ---- Commands ---------------------------------------------------------------------------------

// Returns true if both commands set the same quantity, so that the later one replaces the earlier
// one. Their first words are then equal, and the other words are values.
static bool connection_replaces(const char *now, const char *before) {
  static const struct {
    const char *verb;
    int words; // number of leading words that must be equal
  } latest[] = {{"move ", 1}, {"pace ", 1}, {"set ", 2}};
  for (size_t i = 0; i < sizeof latest / sizeof latest[0]; i++) {
    if (strncmp(now, latest[i].verb, strlen(latest[i].verb)) == 0) {
      int words = 0;
      for (; *now == *before && *now != '\0'; now++, before++) {
        words += *now == ' ';
        if (words == latest[i].words) {
          return true;
        }
      }
    }
  }
  return false;
}

static bool connection_enqueue(S2Server *server, int client, const char *text, size_t size) {
  S2ServerCommand command = {.client = client};
  memcpy(command.text, text, size);
  if (server->count > 0) {
    S2ServerCommand *last = &server->queue[(server->first + server->count - 1) % S2_SERVER_QUEUE];
    if (last->client == client && connection_replaces(command.text, last->text)) {
      *last = command;
      return true;
    }
  }
  if (server->count == S2_SERVER_QUEUE) {
    return false;
  }
  server->queue[(server->first + server->count++) % S2_SERVER_QUEUE] = command;
  pthread_cond_signal(&server->asked);
  return true;
}

static bool take_text(S2Server *server, int client, const unsigned char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (text[i] < ' ' || text[i] == 0x7f) {
      return false;
    }
  }
  pthread_mutex_lock(&server->mutex);
  bool taken = size > 0 && connection_enqueue(server, client, (const char *)text, size);
  pthread_mutex_unlock(&server->mutex);
  return taken;
}

// Returns an S2SocketEnd, or 0 if the connection remains open.
static int obey_frame(S2Server *server, S2Connection *connection, const S2SocketFrame *frame) {
  switch (frame->opcode) {
  case S2_SOCKET_TEXT:
    return take_text(server, connection->client, frame->payload, frame->size) ? 0
                                                                              : S2_SOCKET_REFUSED;
  case S2_SOCKET_CLOSE:
    return S2_SOCKET_NORMAL;
  case S2_SOCKET_PING:
    connection->owes_pong = true;
    connection->pong_size = frame->size;
    memcpy(connection->pong, frame->payload, frame->size);
    return 0;
  default: // a pong
    return 0;
  }
}

static void obey_frames(S2Server *server, S2Connection *connection) {
  size_t done = 0;
  while (connection->end == 0) {
    S2SocketFrame frame;
    connection->end = s2_socket_read(connection->in + done, connection->got - done,
                                     S2_SERVER_COMMAND - 1, &frame);
    if (connection->end == 0 && frame.whole == 0) {
      break;
    }
    if (connection->end == 0) {
      connection->end = obey_frame(server, connection, &frame);
      done += frame.whole;
    }
  }
  connection->got -= done;
  memmove(connection->in, connection->in + done, connection->got);
}

// ---- Connections ------------------------------------------------------------------------------

static void connection_drop(S2Server *server, S2Connection *connection) {
  if (connection->state == S2_CONNECTION_CLIENT) {
    connection_release(server, connection);
  }
  close(connection->socket);
  s2_memory_free(connection->out.at);
  connection->out = (S2ServerKept){0};
  connection->socket = -1;
}

static bool would_block(void) {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void connection_receive(S2Server *server, S2Connection *connection, double now) {
  if (connection->state == S2_CONNECTION_ENDING || connection->end != 0) {
    connection->got = 0; // further input is ignored
  }
  // Read as many bytes as are available and fit into the buffer.
  ssize_t got = recv(connection->socket, connection->in + connection->got,
                     S2_SERVER_REQUEST - connection->got, 0);
  if (got <= 0) {
    if (got == 0 || !would_block()) {
      connection_drop(server, connection);
    }
    return;
  }
  connection->got += (size_t)got;
  connection->heard = now;
  connection->pinged = false;
  // Wait until the head of a request is complete.
  if (connection->state == S2_CONNECTION_READING) {
    size_t size = s2_http_head_size((const char *)connection->in, connection->got);
    if (size > 0) {
      obey_request(server, connection, size, now);
    } else if (connection->got == S2_SERVER_REQUEST) {
      connection->since = now;
      connection_refuse(connection, "431 Request Header Fields Too Large",
                        "sim2d: the request is too long\n");
    }
  }
  // Frames may directly follow the head.
  if (connection->state == S2_CONNECTION_CLIENT) {
    obey_frames(server, connection);
  }
}

static void connection_transmit(S2Server *server, S2Connection *connection, double now) {
  while (is_sending(connection)) {
    size_t own = connection->out.size, sent = connection->sent;
    const unsigned char *at =
        sent < own ? connection->out.at + sent : connection->page + (sent - own);
    size_t size = sent < own ? own - sent : own + connection->page_size - sent;
    ssize_t taken = send(connection->socket, at, size, MSG_NOSIGNAL);
    if (taken < 0) {
      if (!would_block()) {
        connection_drop(server, connection);
      }
      return;
    }
    connection->sent += (size_t)taken;
    connection->since = now;
  }
  if (connection->state == S2_CONNECTION_ANSWERING) {
    // Do not close the socket yet. If input is unread, the client would lose the last message.
    (void)shutdown(connection->socket, SHUT_WR);
    connection->state = S2_CONNECTION_ENDING;
  }
}

// Returns the time in s at which the connection needs attention even without input.
static double connection_due(const S2Connection *connection) {
  switch (connection->state) {
  case S2_CONNECTION_READING:
    return connection->since + REQUEST_TIME;
  case S2_CONNECTION_ANSWERING:
    return connection->since + ANSWER_TIME;
  case S2_CONNECTION_CLIENT:
    return is_sending(connection)
               ? connection->since + MESSAGE_TIME
               : connection->heard + (connection->pinged ? SILENT_TIME : QUIET_TIME);
  default:
    return connection->since + END_TIME;
  }
}

static void connection_expire(S2Server *server, S2Connection *connection, double now) {
  if (connection->state == S2_CONNECTION_CLIENT && !is_sending(connection) && !connection->pinged) {
    connection->pinged = true;
    send_frame(connection, S2_SOCKET_PING, NULL, 0, now);
  } else {
    connection_drop(server, connection);
  }
}

static void connection_attend(S2Server *server, S2Connection *connection, short events,
                              double now) {
  const short ended = POLLERR | POLLHUP | POLLNVAL;
  if ((events & (POLLIN | ended)) != 0 && connection->state != S2_CONNECTION_ANSWERING) {
    connection_receive(server, connection, now);
  }
  if (connection->socket >= 0 && (events & (POLLOUT | ended)) != 0) {
    connection_transmit(server, connection, now);
  }
  if (connection->socket >= 0 && now >= connection_due(connection)) {
    connection_expire(server, connection, now);
  }
}

// Returns a free place if `free_one` is set. Otherwise, or if there is none, drops the oldest
// connection that is not a client and returns its place. Returns NULL if all are clients.
static S2Connection *find_place(S2Server *server, bool free_one) {
  S2Connection *oldest = NULL;
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    S2Connection *connection = &server->connections[i];
    if (free_one && connection->socket < 0) {
      return connection;
    }
    if (connection->socket >= 0 && connection->state != S2_CONNECTION_CLIENT &&
        (oldest == NULL || connection->number < oldest->number)) {
      oldest = connection;
    }
  }
  if (oldest != NULL) {
    connection_drop(server, oldest);
  }
  return oldest;
}

bool s2_connections_set_flags(int file) {
  return fcntl(file, F_SETFL, O_NONBLOCK) == 0 && fcntl(file, F_SETFD, FD_CLOEXEC) == 0;
}

static void let_in(S2Server *server, double now) {
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    // Accept waiting connections, but only a limited number at a time.
    int visitor = accept(server->listener, NULL, NULL);
    if (visitor < 0) {
      if (!would_block() && errno != ECONNABORTED) { // the system has no free sockets
        (void)find_place(server, false);
        server->deaf = now + DEAF_TIME;
      }
      return;
    }
    // Refuse the connection if all places are taken by clients.
    S2Connection *connection = find_place(server, true);
    if (connection == NULL || !s2_connections_set_flags(visitor)) {
      close(visitor);
      continue;
    }
    int on = 1;
    (void)setsockopt(visitor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef SO_NOSIGPIPE
    (void)setsockopt(visitor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    *connection = (S2Connection){
        .socket = visitor, .number = ++server->count_connections, .since = now, .heard = now};
  }
}

// ---- The thread -------------------------------------------------------------------------------

// Waits for events until the time `until`, and handles them.
static void connection_turn(S2Server *server, double until) {
  enum { PIPE, LISTENER, FIRST };
  struct pollfd polled[FIRST + S2_SERVER_PLACES];
  double now = clock_now();
  // The simulation's thread wakes this one through a pipe. Do not accept connections for a while
  // after a failure.
  polled[PIPE] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
  polled[LISTENER] =
      (struct pollfd){.fd = now < server->deaf ? -1 : server->listener, .events = POLLIN};
  if (now < server->deaf) {
    until = fmin(until, server->deaf);
  }
  // Collect the events and time limits of all connections.
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    S2Connection *connection = &server->connections[i];
    struct pollfd *of = &polled[FIRST + i];
    *of = (struct pollfd){.fd = connection->socket}; // poll ignores free places, which are negative
    if (connection->socket >= 0) {
      send_next(server, connection, now);
      of->events = (short)((connection->state != S2_CONNECTION_ANSWERING ? POLLIN : 0) |
                           (is_sending(connection) ? POLLOUT : 0));
      until = fmin(until, connection_due(connection));
    }
  }
  // Wait without a limit if no connection has a due time.
  double ms = isfinite(until) ? ceil(fmax(until - now, 0) * 1e3) : -1;
  if (poll(polled, FIRST + S2_SERVER_PLACES, (int)ms) < 0) {
    return;
  }
  now = clock_now();
  // Empty the pipe, so that poll waits again.
  if (polled[PIPE].revents != 0) {
    char bytes[8];
    pthread_mutex_lock(&server->mutex);
    server->woken = false;
    (void)!read(server->wake[0], bytes, sizeof bytes);
    pthread_mutex_unlock(&server->mutex);
  }
  // Serve existing connections before new ones.
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    if (server->connections[i].socket >= 0) {
      connection_attend(server, &server->connections[i], polled[FIRST + i].revents, now);
    }
  }
  if (polled[LISTENER].revents != 0) {
    let_in(server, now);
  }
}

// Stops accepting connections. Clients get a closing message after the output that is being sent.
static void begin_leaving(S2Server *server) {
  close(server->listener);
  server->listener = -1;
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    S2Connection *connection = &server->connections[i];
    if (connection->socket >= 0 && connection->state == S2_CONNECTION_READING) {
      connection_drop(server, connection);
    } else if (connection->state == S2_CONNECTION_CLIENT && connection->end == 0) {
      connection->end = S2_SOCKET_GOING_AWAY;
    }
  }
}

static bool connection_is_empty(const S2Server *server) {
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    if (server->connections[i].socket >= 0) {
      return false;
    }
  }
  return true;
}

void *s2_connections_serve(void *user) {
  S2Server *server = user;
  double until = (double)INFINITY;
  // After the server closes, continue for a short time to send the remaining output.
  do {
    connection_turn(server, until);
    pthread_mutex_lock(&server->mutex);
    bool closing = server->closing;
    pthread_mutex_unlock(&server->mutex);
    if (closing && server->listener >= 0) {
      begin_leaving(server);
      until = clock_now() + LEAVE_TIME;
    }
  } while (server->listener >= 0 || (clock_now() < until && !connection_is_empty(server)));
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    if (server->connections[i].socket >= 0) {
      connection_drop(server, &server->connections[i]);
    }
  }
  return NULL;
}
