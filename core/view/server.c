// The simulation's side of the live viewer. It posts messages and takes commands.
#include "view/server.h"

#include "view/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  WAITING = 128, // number of connections that may wait to be accepted
  // Stack size of the thread in bytes. This includes a large margin, because the C library stores
  // the thread-local data of all libraries there (60 kB for OpenBLAS).
  STACK = 1 << 20,
};

// The caller must hold the mutex.
static void server_wake(S2Server *server) {
  if (!server->woken) {
    server->woken = true;
    while (write(server->wake[1], "", 1) < 0 && errno == EINTR) {
    }
  }
}

// ---- Opening ----------------------------------------------------------------------------------

static S2Status make_token(char token[S2_SERVER_TOKEN]) {
  unsigned char bytes[S2_SERVER_TOKEN / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
    return s2_error(S2_IO, "the live viewer cannot get random numbers for its token (%s)",
                    strerror(errno));
  }
  for (int i = 0; i < S2_SERVER_TOKEN / 2; i++) {
    snprintf(token + 2 * (size_t)i, 3, "%02x", bytes[i]);
  }
  return s2_ok();
}

static S2Status cannot_listen(int port, int reason) {
  return s2_error(S2_IO, "the live viewer cannot listen on 127.0.0.1:%d: %s", port,
                  strerror(reason));
}

static S2Status listen_on(S2Server *server, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  int on = 1; // reuse the port of a server that has just closed
  int listener = server->listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      !s2_connections_set_flags(listener) ||
      bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, WAITING) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
    return cannot_listen(port, errno);
  }
  server->port = ntohs(address.sin_port);
  snprintf(server->address, sizeof server->address, "http://127.0.0.1:%d/?token=%s", server->port,
           server->token);
  return s2_ok();
}

static S2Status server_start(S2Server *server) {
  if (pipe(server->wake) != 0) {
    return s2_error(S2_IO, "the live viewer cannot make a pipe: %s", strerror(errno));
  }
  if (!s2_connections_set_flags(server->wake[0]) || !s2_connections_set_flags(server->wake[1])) {
    return s2_error(S2_IO, "the live viewer cannot use its pipe: %s", strerror(errno));
  }
  // Block signals in the new thread, which inherits the mask. The simulation's thread handles them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int failure = pthread_attr_setstacksize(&attributes, STACK);
  if (failure == 0) {
    failure = pthread_create(&server->thread, &attributes, s2_connections_serve, server);
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure != 0) {
    return s2_error(S2_IO, "the live viewer cannot start its thread: %s", strerror(failure));
  }
  server->serving = true;
  return s2_ok();
}

S2Status s2_server_open(int port, const unsigned char *page, size_t size, S2Server **result) {
  *result = NULL;
  S2Server *server = s2_memory_take_zeroed(sizeof *server);
  server->page = page;
  server->page_size = size;
  // Mark all files as closed, so that s2_server_close works from here on.
  server->listener = server->wake[0] = server->wake[1] = -1;
  for (int i = 0; i < S2_SERVER_PLACES; i++) {
    server->connections[i].socket = -1;
  }
  // Wait with a clock that cannot be set.
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&server->mutex, NULL);
  pthread_cond_init(&server->asked, &monotonic);
  pthread_condattr_destroy(&monotonic);
  // Create the token, open the port, and start the thread that serves connections.
  S2Status status = make_token(server->token);
  if (status.code == S2_OK) {
    status = listen_on(server, port);
  }
  if (status.code == S2_OK) {
    status = server_start(server);
  }
  if (status.code != S2_OK) {
    s2_server_close(server);
    return status;
  }
  *result = server;
  return status;
}

void s2_server_close(S2Server *server) {
  if (server == NULL) {
    return;
  }
  // Let the thread end by itself, because it owns the connections.
  if (server->serving) {
    pthread_mutex_lock(&server->mutex);
    server->closing = true;
    server_wake(server);
    pthread_mutex_unlock(&server->mutex);
    pthread_join(server->thread, NULL);
  }
  // Release the resources of the thread.
  const int files[] = {server->listener, server->wake[0], server->wake[1]};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    if (files[i] >= 0) {
      close(files[i]);
    }
  }
  for (int i = 0; i < S2_SERVER_MESSAGES; i++) {
    s2_memory_free(server->messages[i].at);
  }
  pthread_cond_destroy(&server->asked);
  pthread_mutex_destroy(&server->mutex);
  s2_memory_free(server);
}

const char *s2_server_address(const S2Server *server) {
  return server->address;
}

// ---- The simulation's side --------------------------------------------------------------------

static int count_clients(const S2Server *server) {
  int count = 0;
  for (int i = 0; i < S2_SERVER_CLIENTS; i++) {
    count += server->clients[i].taken;
  }
  return count;
}

int s2_server_client_count(S2Server *server) {
  pthread_mutex_lock(&server->mutex);
  int count = count_clients(server);
  pthread_mutex_unlock(&server->mutex);
  return count;
}

static void server_put(S2Server *server, S2ServerMessage kind, const void *bytes, size_t size) {
  S2ServerKept *message = &server->messages[kind];
  s2_server_make_room(message, size);
  if (size > 0) {
    memcpy(message->at, bytes, size);
  }
  message->size = size;
  message->number = ++server->puts;
}

void s2_server_put(S2Server *server, S2ServerMessage message, const void *bytes, size_t size) {
  pthread_mutex_lock(&server->mutex);
  server_put(server, message, bytes, size);
  if (message == S2_SERVER_SCENE) {
    server_put(server, S2_SERVER_FRAME, NULL, 0); // the stored frame has the previous scene
  }
  if (count_clients(server) > 0) {
    server_wake(server);
  }
  pthread_mutex_unlock(&server->mutex);
}

// Report the end of a client after all of its commands.
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
    server->first = (server->first + 1) % S2_SERVER_QUEUE;
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
