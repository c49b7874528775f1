// The live viewer's server at its C interface: stored, sent and accepted messages. Its behaviour
// towards browsers and misbehaving clients is tested from outside (tests/browser/test_live.mjs).
#include "view/frames.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const unsigned char page[] = "<html>a page</html>";

static double clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static S2Server *open_server(void) {
  S2Server *server = NULL;
  assert_int_equal(s2_server_open(0, page, sizeof page - 1, &server).code, S2_OK);
  return server;
}

static int port_of(const S2Server *server) {
  int port = 0;
  assert_int_equal(sscanf(s2_server_address(server), "http://127.0.0.1:%d/?token=", &port), 1);
  return port;
}

static int connect_to(const S2Server *server) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port_of(server)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int at = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(at >= 0);
  assert_int_equal(connect(at, (struct sockaddr *)&address, sizeof address), 0);
  struct timeval patience = {.tv_sec = 20};
  assert_int_equal(setsockopt(at, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  return at;
}

static void send_all(int at, const void *bytes, size_t size) {
  assert_int_equal(send(at, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

static void read_exact(int at, void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = recv(at, (char *)bytes + done, size - done, 0);
    assert_true(got > 0);
    done += (size_t)got;
  }
}

// Sends a request with the token or without; returns the status.
static int ask(const S2Server *server, int at, const char *path, bool token, const char *more) {
  char text[600], status[13] = "";
  const char *query = strchr(s2_server_address(server), '?');
  int size = snprintf(text, sizeof text, "GET %s%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n", path,
                      token ? query : "", port_of(server), more);
  send_all(at, text, (size_t)size);
  read_exact(at, status, 12);
  return atoi(status + 9);
}

// A websocket after its handshake.
static int open_client(const S2Server *server) {
  int at = connect_to(server);
  int status = ask(server, at, "/live", true,
                   "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n");
  assert_int_equal(status, 101);
  char last[4] = "";
  while (memcmp(last, "\r\n\r\n", 4) != 0) {
    memmove(last, last + 1, 3);
    read_exact(at, last + 3, 1);
  }
  return at;
}

// Reads the next message; returns its size, which fits into a byte.
static size_t receive(int at, unsigned char bytes[126]) {
  unsigned char head[2];
  read_exact(at, head, 2);
  assert_true(head[1] < 126);
  read_exact(at, bytes, head[1]);
  return head[1];
}

static void send_text(int at, const char *text) {
  unsigned char bytes[140] = {0x81, (unsigned char)(0x80 | strlen(text))}; // a mask of zeros
  memcpy(bytes + 6, text, strlen(text));
  send_all(at, bytes, 6 + strlen(text));
}

static void take(S2Server *server, S2ServerCommand *command) {
  assert_true(s2_server_wait(server, clock_now() + 20));
  assert_true(s2_server_take(server, command));
}

static void test_pages(void **state) {
  (void)state;
  S2Server *server = open_server();
  static const struct {
    const char *path;
    bool token;
    int status;
  } asked[] = {
      {"/", true, 200}, {"/", false, 403}, {"/live", false, 403}, {"/etc/passwd", true, 404}};
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    int at = connect_to(server);
    assert_int_equal(ask(server, at, asked[i].path, asked[i].token, ""), asked[i].status);
    close(at);
  }
  s2_server_close(server);
  s2_server_close(NULL);
}

static void test_messages(void **state) {
  (void)state;
  S2Server *server = open_server();
  unsigned char bytes[126];
  s2_server_put(server, S2_SERVER_FRAME, "frame 1", 7);
  s2_server_put(server, S2_SERVER_SCENE, "scene", 5); // drops the frame of the former scene
  s2_server_put(server, S2_SERVER_STATE, "old state", 9);
  s2_server_put(server, S2_SERVER_STATE, "state", 5); // the newest alone
  int at = open_client(server);
  assert_int_equal(receive(at, bytes), 5);
  assert_memory_equal(bytes, "state", 5);
  assert_int_equal(receive(at, bytes), 5);
  assert_memory_equal(bytes, "scene", 5);
  s2_server_put(server, S2_SERVER_FRAME, "frame 2", 7);
  assert_int_equal(receive(at, bytes), 7);
  assert_memory_equal(bytes, "frame 2", 7);
  assert_int_equal(s2_server_client_count(server), 1);
  close(at);
  s2_server_close(server);
}

static void test_commands(void **state) {
  (void)state;
  S2Server *server = open_server();
  S2ServerCommand command;
  assert_false(s2_server_take(server, &command));
  assert_false(s2_server_wait(server, clock_now() - 1));
  int at = open_client(server);
  static const char *const sent[] = {"pause",   "move 1 2", "move 3 4", "set 1 0.5",
                                     "set 2 7", "set 2 8",  "press 1",  "move 5 6"};
  for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
    send_text(at, sent[i]);
  }
  close(at);
  // Messages that set the same thing replace each other; how many remain depends on when they are
  // taken, but the last one always does.
  char all[400] = "";
  do {
    take(server, &command);
    assert_true(strlen(all) + strlen(command.text) + 2 < sizeof all);
    strcat(strcat(all, command.text), ";");
  } while (strcmp(command.text, "gone") != 0);
  assert_non_null(strstr(all, "pause;"));
  assert_non_null(strstr(all, "move 3 4;set 1 0.5;"));
  assert_non_null(strstr(all, "set 2 8;press 1;move 5 6;gone;"));
  assert_int_equal(s2_server_client_count(server), 0);
  s2_server_close(server);
}

// It ends at once although a client does not read.
static void test_stalled(void **state) {
  (void)state;
  enum { SIZE = 1 << 22 };
  S2Server *server = open_server();
  int at = open_client(server);
  char *large = calloc(1, SIZE);
  for (int i = 0; i < 20; i++) {
    s2_server_put(server, S2_SERVER_FRAME, large, SIZE);
    struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
  }
  free(large);
  s2_server_close(server);
  close(at);
}

// Until the other side closes.
static void wait_for_end(int at) {
  char bytes[256];
  ssize_t got;
  do {
    got = recv(at, bytes, sizeof bytes, 0);
    assert_true(got >= 0);
  } while (got > 0);
  close(at);
}

#define KEY     "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"

// Input that may crash a server in a thread with a small stack: refused handshakes of arbitrary
// clients; lengths; clients that disconnect.
static void test_rude(void **state) {
  (void)state;
  static const char long_key[] = UPGRADE "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                                         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\r\n";
  static const struct {
    const char *path, *more;
    int status, with_token;
  } asked[] = {
      {"/", "Origin: http://evil.example\r\n" UPGRADE KEY "Sec-WebSocket-Version: 13\r\n", 403,
       403},
      {"/other", UPGRADE KEY "Sec-WebSocket-Version: 13\r\n", 403, 404},
      {"/live", UPGRADE KEY "Sec-WebSocket-Version: 12\r\n", 403, 426},
      {"/live", UPGRADE KEY, 403, 426},
      {"/live", UPGRADE "Sec-WebSocket-Version: 13\r\n", 403, 400},
      {"/live", long_key, 403, 400},
  };
  static const struct {
    unsigned char bytes[14];
    size_t size;
    bool leaves;
  } sent[] = {
      {{0x81, 0xff, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, 14, false},          // 2^31
      {{0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 14, false},             // 2^32
      {{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 14, false}, // 2^64 - 1
      {{0x81, 0x87, 0, 0, 0, 0}, 6, true},                                       // 6 of 13 bytes
      {{0x81}, 1, true},
  };
  S2Server *server = open_server();
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    for (int token = 0; token < 2; token++) {
      int at = connect_to(server);
      assert_int_equal(ask(server, at, asked[i].path, token, asked[i].more),
                       token ? asked[i].with_token : asked[i].status);
      wait_for_end(at);
    }
  }
  for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
    int at = open_client(server);
    send_all(at, sent[i].bytes, sent[i].size);
    if (sent[i].leaves) {
      close(at);
    } else {
      wait_for_end(at);
    }
    S2ServerCommand command;
    take(server, &command);
    assert_string_equal(command.text, "gone");
  }
  int at = connect_to(server);
  assert_int_equal(ask(server, at, "/", true, ""), 200);
  close(at);
  s2_server_close(server);
}

// More clients than places; the page still loads, and viewers stay connected.
static void test_silent(void **state) {
  (void)state;
  enum { SILENT = 400 };
  S2Server *server = open_server();
  static int silent[SILENT];
  unsigned char bytes[126];
  int client = open_client(server);
  for (int i = 0; i < SILENT; i++) {
    silent[i] = connect_to(server);
  }
  int at = connect_to(server);
  assert_int_equal(ask(server, at, "/", true, ""), 200);
  close(at);
  s2_server_put(server, S2_SERVER_STATE, "state", 5);
  assert_int_equal(receive(client, bytes), 5);
  for (int i = 0; i < SILENT; i++) {
    close(silent[i]);
  }
  close(client);
  s2_server_close(server);
}

// A ping is answered, and so is a close frame.
static void test_control(void **state) {
  (void)state;
  S2Server *server = open_server();
  static const unsigned char ping[] = {0x89, 0x82, 0, 0, 0, 0, 'h', 'i'};
  static const unsigned char goodbye[] = {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8};
  unsigned char bytes[4];
  int at = open_client(server);
  send_all(at, ping, sizeof ping);
  read_exact(at, bytes, 4);
  assert_memory_equal(bytes, "\x8a\x02hi", 4);
  send_all(at, goodbye, sizeof goodbye);
  read_exact(at, bytes, 4);
  assert_memory_equal(bytes, "\x88\x02\x03\xe8", 4);
  wait_for_end(at);
  s2_server_close(server);
}

static void test_frames(void **state) {
  (void)state;
  S2Server *server = open_server();
  S2WorldDef def = s2_world_def();
  S2World *world = NULL;
  assert_int_equal(s2_world_create(&def, &world).code, S2_OK);
  S2Frames frames = {0};
  unsigned char head[10], *scene = NULL;
  assert_int_equal(s2_frames_show(&frames, server, world).code, S2_OK);
  int at = open_client(server);
  read_exact(at, head, 4); // a scene: 126 and two bytes of size
  assert_int_equal(head[0], 0x82);
  assert_int_equal(head[1], 126);
  size_t size = (size_t)head[2] << 8 | head[3];
  scene = malloc(size);
  read_exact(at, scene, size);
  assert_memory_equal(scene, S2_S2D_MAGIC, 8);
  unsigned char frame[126];
  size_t length = receive(at, frame);
  assert_true(length > S2_S2D_CHUNK_HEADER);
  assert_int_equal(s2_s2d_get32(frame), S2_S2D_FRAME);
  assert_int_equal(s2_world_step(world).code, S2_OK);
  assert_int_equal(s2_frames_show(&frames, server, world).code, S2_OK);
  length = receive(at, frame);
  assert_true(length > S2_S2D_CHUNK_HEADER);
  assert_int_equal(s2_s2d_get32(frame), S2_S2D_FRAME); // no scene before it: it is unchanged
  free(scene);
  close(at);
  s2_frames_free(&frames);
  s2_world_destroy(world);
  s2_server_close(server);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pages),    cmocka_unit_test(test_messages),
      cmocka_unit_test(test_commands), cmocka_unit_test(test_stalled),
      cmocka_unit_test(test_frames),   cmocka_unit_test(test_rude),
      cmocka_unit_test(test_silent),   cmocka_unit_test(test_control),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
