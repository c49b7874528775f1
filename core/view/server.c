#include "view/server.h"

#ifndef S2_HAVE_CIVETWEB

S2Status s2_server_open(int port, const unsigned char *page, size_t size, S2Server **server) {
  (void)port;
  (void)page;
  (void)size;
  *server = NULL;
  return s2_error(S2_UNAVAILABLE, "this sim2d was built without the live viewer: civetweb was not "
                                  "found (Debian: libcivetweb-dev)");
}

void s2_server_close(S2Server *server) {
  (void)server;
}

const char *s2_server_address(const S2Server *server) {
  (void)server;
  return "";
}

int s2_server_client_count(S2Server *server) {
  (void)server;
  return 0;
}

void s2_server_put(S2Server *server, S2ServerMessage message, const void *bytes, size_t size) {
  (void)server;
  (void)message;
  (void)bytes;
  (void)size;
}

bool s2_server_take(S2Server *server, S2ServerCommand *command) {
  (void)server;
  (void)command;
  return false;
}

bool s2_server_wait(S2Server *server, double time) {
  (void)server;
  (void)time;
  return false;
}

#else

#include "base/memory.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  TOKEN_BYTES = 16,
  TOKEN_SIZE = 2 * TOKEN_BYTES + 1,
  QUEUE = 256, // commands; moves of one hand take one place
  HOST_SIZE = 64,
};

typedef struct Message {
  unsigned char *at;
  size_t size, capacity;
  uint64_t number; // of its put; 0: never
} Message;

typedef struct Client {
  S2Server *server;
  struct mg_connection *connection; // NULL: free
  pthread_t sender;
  bool sending; // there is a sender
  bool leaving; // asks the sender to end
  bool left;    // the sender took its leave
  bool gone;    // the simulation has not heard of its end yet; until then the place stays taken
} Client;

struct S2Server {
  struct mg_context *context;
  const unsigned char *page;
  size_t page_size;
  int port;
  char token[TOKEN_SIZE], address[100];

  pthread_mutex_t mutex; // guards all below
  pthread_cond_t news;   // a message, or a client that leaves
  pthread_cond_t asked;  // a command
  Message messages[S2_SERVER_MESSAGES];
  uint64_t puts;
  Client clients[S2_SERVER_CLIENTS];
  S2ServerCommand queue[QUEUE];
  int first, count;
  bool closing; // senders take their leave
  bool stopped;
};

// ---- Who may come in --------------------------------------------------------------------------

static bool same_secret(const char *a, const char *b) {
  if (strlen(a) != strlen(b)) {
    return false;
  }
  unsigned difference = 0; // all of it is looked at: the time tells nothing
  for (size_t i = 0; a[i] != '\0'; i++) {
    difference |= (unsigned)(a[i] ^ b[i]);
  }
  return difference == 0;
}

// A page of somebody else's, whose name leads to 127.0.0.1, shows by its own name in Host or
// Origin.
static bool may_enter(const S2Server *server, const struct mg_connection *connection) {
  char hosts[2][HOST_SIZE], token[TOKEN_SIZE + 1] = "";
  snprintf(hosts[0], HOST_SIZE, "127.0.0.1:%d", server->port);
  snprintf(hosts[1], HOST_SIZE, "localhost:%d", server->port);
  const char *host = mg_get_header(connection, "Host");
  const char *origin = mg_get_header(connection, "Origin");
  const char *query = mg_get_request_info(connection)->query_string;
  if (host == NULL || query == NULL ||
      (strcmp(host, hosts[0]) != 0 && strcmp(host, hosts[1]) != 0) ||
      (origin != NULL && (strncmp(origin, "http://", 7) != 0 || strcmp(origin + 7, host) != 0))) {
    return false;
  }
  return mg_get_var(query, strlen(query), "token", token, sizeof token) > 0 &&
         same_secret(token, server->token);
}

static int refuse(struct mg_connection *connection, int code, const char *reason) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
            code,
            code == 403   ? "Forbidden"
            : code == 404 ? "Not Found"
                          : "Error",
            strlen(reason), reason);
  return code;
}

static const char FORBIDDEN[] =
    "sim2d: open the whole address that was printed, with its ?token=...\n";

static int serve_page(struct mg_connection *connection, void *user) {
  const S2Server *server = user;
  const struct mg_request_info *request = mg_get_request_info(connection);
  if (!may_enter(server, connection)) {
    return refuse(connection, 403, FORBIDDEN);
  }
  if (strcmp(request->local_uri, "/") != 0) {
    return refuse(connection, 404, "sim2d: there is nothing here\n");
  }
  if (strcmp(request->request_method, "GET") != 0) {
    return refuse(connection, 405, "sim2d: only GET\n");
  }
  mg_printf(connection,
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
            "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
            "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
            "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self'\r\n"
            "Connection: close\r\n\r\n",
            server->page_size);
  mg_write(connection, server->page, server->page_size);
  return 200;
}

// ---- Sending ----------------------------------------------------------------------------------

// Copies the first message that is newer than sent[]; false: there is none.
static bool copy_next(S2Server *server, uint64_t sent[S2_SERVER_MESSAGES], Message *copy,
                      S2ServerMessage *kind) {
  for (int i = 0; i < S2_SERVER_MESSAGES; i++) {
    const Message *message = &server->messages[i];
    if (message->number > sent[i]) {
      if (message->size > copy->capacity) {
        copy->at = s2_memory_grow(copy->at, message->size);
        copy->capacity = message->size;
      }
      if (message->size > 0) {
        memcpy(copy->at, message->at, message->size);
      }
      copy->size = message->size;
      sent[i] = message->number;
      *kind = (S2ServerMessage)i;
      return true;
    }
  }
  return false;
}

// A client that hears of the end answers, which wakes up civetweb's thread: else that looks every
// two seconds whether it is to stop.
static void say_goodbye(struct mg_connection *connection) {
  static const char going_away[] = {0x03, (char)0xe9}; // 1001
  (void)mg_websocket_write(connection, MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE, going_away,
                           sizeof going_away);
}

// A thread for each client: a write may take as long as the client likes.
static void *send_messages(void *user) {
  Client *client = user;
  S2Server *server = client->server;
  uint64_t sent[S2_SERVER_MESSAGES] = {0};
  Message copy = {0};
  S2ServerMessage kind = S2_SERVER_STATE;
  pthread_mutex_lock(&server->mutex);
  while (!client->leaving) {
    struct mg_connection *connection = client->connection;
    if (server->closing) {
      pthread_mutex_unlock(&server->mutex);
      say_goodbye(connection);
      pthread_mutex_lock(&server->mutex);
      client->left = true;
      break;
    }
    if (!copy_next(server, sent, &copy, &kind)) {
      pthread_cond_wait(&server->news, &server->mutex);
      continue;
    }
    pthread_mutex_unlock(&server->mutex);
    bool binary = kind == S2_SERVER_SCENE || kind == S2_SERVER_FRAME;
    int opcode = binary ? MG_WEBSOCKET_OPCODE_BINARY : MG_WEBSOCKET_OPCODE_TEXT;
    int written = copy.size == 0
                      ? 1
                      : mg_websocket_write(connection, opcode, (const char *)copy.at, copy.size);
    pthread_mutex_lock(&server->mutex);
    if (written <= 0) { // a message may be cut in its middle: nothing can follow it
      mg_disable_keep_alive(connection);
      break;
    }
  }
  pthread_mutex_unlock(&server->mutex);
  s2_memory_free(copy.at);
  return NULL;
}

// ---- Receiving --------------------------------------------------------------------------------

static int client_connect(const struct mg_connection *connection, void *user) {
  S2Server *server = user;
  struct mg_connection *writable = (struct mg_connection *)connection; // to say why not
  if (!may_enter(server, connection)) {
    refuse(writable, 403, FORBIDDEN);
    return 1;
  }
  Client *place = NULL;
  pthread_mutex_lock(&server->mutex);
  for (int i = 0; i < S2_SERVER_CLIENTS && place == NULL; i++) {
    Client *client = &server->clients[i];
    if (client->connection == NULL && !client->gone) {
      place = client;
      *place = (Client){.server = server, .connection = writable};
    }
  }
  pthread_mutex_unlock(&server->mutex);
  if (place == NULL) {
    refuse(writable, 503, "sim2d: too many pages are watching this run\n");
    return 1;
  }
  mg_set_user_connection_data(connection, place);
  return 0;
}

static void client_ready(struct mg_connection *connection, void *user) {
  S2Server *server = user;
  Client *client = mg_get_user_connection_data(connection);
  pthread_mutex_lock(&server->mutex);
  client->sending = pthread_create(&client->sender, NULL, send_messages, client) == 0;
  pthread_mutex_unlock(&server->mutex);
}

// Do both set the same thing, so that the later one makes the earlier one needless? The same words
// up to the last but `values`.
static bool replaces(const char *now, const char *before) {
  static const struct {
    const char *verb;
    int words; // that have to be the same
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

static bool enqueue(S2Server *server, int client, const char *text, size_t size) {
  S2ServerCommand command = {.client = client};
  memcpy(command.text, text, size);
  if (server->count > 0) {
    S2ServerCommand *last = &server->queue[(server->first + server->count - 1) % QUEUE];
    if (last->client == client && replaces(command.text, last->text)) {
      *last = command;
      return true;
    }
  }
  if (server->count == QUEUE) {
    return false;
  }
  server->queue[(server->first + server->count++) % QUEUE] = command;
  pthread_cond_signal(&server->asked);
  return true;
}

static int client_data(struct mg_connection *connection, int bits, char *data, size_t size,
                       void *user) {
  S2Server *server = user;
  const Client *client = mg_get_user_connection_data(connection);
  int opcode = bits & 0xf;
  if (opcode == MG_WEBSOCKET_OPCODE_PING || opcode == MG_WEBSOCKET_OPCODE_PONG) {
    return 1;
  }
  bool whole = (bits & 0x80) != 0;
  if (opcode != MG_WEBSOCKET_OPCODE_TEXT || !whole || size == 0 || size >= S2_SERVER_COMMAND) {
    return 0; // ends the connection
  }
  for (size_t i = 0; i < size; i++) {
    if ((unsigned char)data[i] < ' ' || data[i] == 0x7f) {
      return 0;
    }
  }
  pthread_mutex_lock(&server->mutex);
  bool taken = enqueue(server, (int)(client - server->clients), data, size);
  pthread_mutex_unlock(&server->mutex);
  return taken ? 1 : 0;
}

static void client_close(const struct mg_connection *connection, void *user) {
  S2Server *server = user;
  Client *client = mg_get_user_connection_data(connection);
  if (client == NULL) {
    return;
  }
  pthread_mutex_lock(&server->mutex);
  client->leaving = true;
  bool sending = client->sending;
  pthread_cond_broadcast(&server->news);
  pthread_mutex_unlock(&server->mutex);
  if (sending) {
    pthread_join(client->sender, NULL);
  }
  pthread_mutex_lock(&server->mutex);
  client->connection = NULL;
  client->sending = false;
  client->gone = true;
  pthread_cond_signal(&server->asked);
  pthread_mutex_unlock(&server->mutex);
}

// ---- Opening ----------------------------------------------------------------------------------

static S2Status make_token(char token[TOKEN_SIZE]) {
  unsigned char bytes[TOKEN_BYTES];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
    return s2_error(S2_IO, "the live viewer: no random numbers for its token (%s)",
                    strerror(errno));
  }
  for (int i = 0; i < TOKEN_BYTES; i++) {
    snprintf(token + 2 * (size_t)i, 3, "%02x", bytes[i]);
  }
  return s2_ok();
}

static int be_quiet(const struct mg_connection *connection, const char *message) {
  (void)connection;
  (void)message;
  return 1;
}

static S2Status start(S2Server *server, int port) {
  char listen_on[HOST_SIZE];
  snprintf(listen_on, sizeof listen_on, "127.0.0.1:%d", port);
  // A thread a connection while it lasts: clients, and a few to load pages and refuse others.
  const char *options[] = {"listening_ports", listen_on, "num_threads", "12",
                           // ms: a client that takes nothing for so long is given up
                           "request_timeout_ms", "5000", "websocket_timeout_ms", "10000",
                           "enable_websocket_ping_pong", "yes", NULL};
  struct mg_callbacks callbacks = {.log_message = be_quiet};
  mg_init_library(0);
  server->context = mg_start(&callbacks, server, options);
  struct mg_server_port bound = {0};
  if (server->context == NULL || mg_get_server_ports(server->context, 1, &bound) < 1) {
    return s2_error(S2_IO, "the live viewer cannot listen on 127.0.0.1:%d: %s", port,
                    port != 0 ? "is the port taken?" : "no port is free");
  }
  server->port = bound.port;
  snprintf(server->address, sizeof server->address, "http://127.0.0.1:%d/?token=%s", server->port,
           server->token);
  mg_set_request_handler(server->context, "/", serve_page, server);
  mg_set_websocket_handler(server->context, "/live", client_connect, client_ready, client_data,
                           client_close, server);
  return s2_ok();
}

S2Status s2_server_open(int port, const unsigned char *page, size_t size, S2Server **result) {
  *result = NULL;
  S2Server *server = s2_memory_take(sizeof *server);
  *server = (S2Server){.page = page, .page_size = size};
  S2Status status = make_token(server->token);
  if (status.code != S2_OK) {
    s2_memory_free(server);
    return status;
  }
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&server->mutex, NULL);
  pthread_cond_init(&server->news, &monotonic);
  pthread_cond_init(&server->asked, &monotonic);
  pthread_condattr_destroy(&monotonic);
  // Signals are the business of the thread that simulates; new threads inherit the mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  status = start(server, port);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (status.code != S2_OK) {
    s2_server_close(server);
    return status;
  }
  *result = server;
  return status;
}

static void *stop(void *user) {
  S2Server *server = user;
  mg_stop(server->context); // ends all connections and threads
  pthread_mutex_lock(&server->mutex);
  server->stopped = true;
  pthread_mutex_unlock(&server->mutex);
  return NULL;
}

static bool has_stopped(S2Server *server) {
  pthread_mutex_lock(&server->mutex);
  bool stopped = server->stopped;
  pthread_mutex_unlock(&server->mutex);
  return stopped;
}

static bool all_left(S2Server *server) {
  bool left = true;
  pthread_mutex_lock(&server->mutex);
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    const Client *client = &server->clients[i];
    left = left && (!client->sending || client->leaving || client->left);
  }
  pthread_mutex_unlock(&server->mutex);
  return left;
}

// Once civetweb is to stop, it sends nothing any more. Who does not read is not waited for.
static void take_leave(S2Server *server) {
  enum { PATIENCE = 100 }; // ms
  struct timespec pause = {0, 1000000};
  pthread_mutex_lock(&server->mutex);
  server->closing = true;
  pthread_cond_broadcast(&server->news);
  pthread_mutex_unlock(&server->mutex);
  for (int i = 0; i < PATIENCE && !all_left(server); i++) {
    nanosleep(&pause, NULL);
  }
}

// civetweb looks every two seconds whether it is to stop, and when somebody connects.
static void stop_soon(S2Server *server) {
  pthread_t stopper;
  take_leave(server);
  if (pthread_create(&stopper, NULL, stop, server) != 0) {
    stop(server);
    return;
  }
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)server->port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct timespec pause = {0, 10000000};
  while (!has_stopped(server)) {
    int visitor = socket(AF_INET, SOCK_STREAM, 0);
    if (visitor >= 0 && fcntl(visitor, F_SETFL, O_NONBLOCK) == 0) {
      (void)connect(visitor, (struct sockaddr *)&address,
                    sizeof address); // what matters is the try
    }
    if (visitor >= 0) {
      close(visitor);
    }
    nanosleep(&pause, NULL);
  }
  pthread_join(stopper, NULL);
}

void s2_server_close(S2Server *server) {
  if (server == NULL) {
    return;
  }
  if (server->context != NULL) {
    stop_soon(server);
    mg_exit_library();
  }
  for (int i = 0; i < S2_SERVER_MESSAGES; i++) {
    s2_memory_free(server->messages[i].at);
  }
  pthread_cond_destroy(&server->news);
  pthread_cond_destroy(&server->asked);
  pthread_mutex_destroy(&server->mutex);
  s2_memory_free(server);
}

const char *s2_server_address(const S2Server *server) {
  return server->address;
}

// ---- The simulation's side --------------------------------------------------------------------

int s2_server_client_count(S2Server *server) {
  int count = 0;
  pthread_mutex_lock(&server->mutex);
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    count += server->clients[i].sending && !server->clients[i].leaving;
  }
  pthread_mutex_unlock(&server->mutex);
  return count;
}

static void put(S2Server *server, S2ServerMessage kind, const void *bytes, size_t size) {
  Message *message = &server->messages[kind];
  if (size > message->capacity) {
    message->capacity = size + size / 2;
    message->at = s2_memory_grow(message->at, message->capacity);
  }
  if (size > 0) {
    memcpy(message->at, bytes, size);
  }
  message->size = size;
  message->number = ++server->puts;
}

void s2_server_put(S2Server *server, S2ServerMessage kind, const void *bytes, size_t size) {
  pthread_mutex_lock(&server->mutex);
  put(server, kind, bytes, size);
  if (kind == S2_SERVER_SCENE) {
    put(server, S2_SERVER_FRAME, NULL, 0); // of the scene before
  }
  pthread_cond_broadcast(&server->news);
  pthread_mutex_unlock(&server->mutex);
}

// The end of a client comes after all it had sent.
static bool take_gone(S2Server *server, S2ServerCommand *command) {
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    if (server->clients[i].gone) {
      server->clients[i].gone = false;
      *command = (S2ServerCommand){.client = i, .text = "gone"};
      return true;
    }
  }
  return false;
}

bool s2_server_take(S2Server *server, S2ServerCommand *command) {
  pthread_mutex_lock(&server->mutex);
  bool found = server->count > 0;
  if (found) {
    *command = server->queue[server->first];
    server->first = (server->first + 1) % QUEUE;
    server->count--;
  } else {
    found = take_gone(server, command);
  }
  pthread_mutex_unlock(&server->mutex);
  return found;
}

static bool has_news(const S2Server *server) {
  bool news = server->count > 0;
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    news |= server->clients[i].gone;
  }
  return news;
}

bool s2_server_wait(S2Server *server, double time) {
  double whole = floor(time);
  struct timespec until = {(time_t)whole, (long)((time - whole) * 1e9)};
  pthread_mutex_lock(&server->mutex);
  int failure = 0;
  while (!has_news(server) && failure == 0) {
    failure = pthread_cond_timedwait(&server->asked, &server->mutex, &until);
  }
  bool news = has_news(server);
  pthread_mutex_unlock(&server->mutex);
  return news;
}

#endif
