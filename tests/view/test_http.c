// The parser of the live viewer's server: requests and frames, complete, in parts and damaged.
#include "view/http.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// On the heap, where sanitizers detect a read beyond its end.
static char *on_heap(const void *bytes, size_t size) {
  return memcpy(malloc(size > 0 ? size : 1), bytes, size);
}

static const char GOOD[] = "GET /live?a=b&token=secret HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
                           "origin:http://127.0.0.1:80  \r\nUPGRADE: h2c, WebSocket\r\n"
                           "Connection: keep-alive, Upgrade\r\nConnection: x\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: key\r\n\r\n";

static void test_request(void **state) {
  (void)state;
  size_t size = sizeof GOOD - 1;
  for (size_t part = 0; part < size; part++) {
    assert_int_equal(s2_http_head_size(GOOD, part), 0);
  }
  assert_int_equal(s2_http_head_size(GOOD, size), size);
  char *head = on_heap(GOOD, size), token[8];
  S2HttpRequest request;
  assert_true(s2_http_read(head, size, &request));
  assert_string_equal(request.method, "GET");
  assert_string_equal(request.path, "/live");
  assert_string_equal(request.query, "a=b&token=secret");
  assert_string_equal(request.host, "127.0.0.1:80");
  assert_string_equal(request.origin, "http://127.0.0.1:80");
  assert_string_equal(request.socket_version, "13");
  assert_string_equal(request.socket_key, "key");
  assert_true(request.upgrades);
  assert_true(s2_http_value(request.query, "token", token, sizeof token));
  assert_string_equal(token, "secret");
  assert_false(s2_http_value(request.query, "token", token, sizeof "secret" - 1));
  assert_false(s2_http_value(request.query, "oken", token, sizeof token));
  assert_false(s2_http_value(NULL, "token", token, sizeof token));
  free(head);
}

static void test_refused_requests(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      " / HTTP/1.1\r\n",
      "get / HTTP/1.1\r\n",
      "GET  / HTTP/1.1\r\n",
      "GET http://127.0.0.1/ HTTP/1.1\r\n",
      "GET / HTTP/2.0\r\n",
      "GET / HTTP/1.1 \r\n",
      "GET /\r\n",
      "GET /\x01 HTTP/1.1\r\n",
      "GET / HTTP/1.1\nHost: a\r\n",
      "GET / HTTP/1.1\r\nHost\r\n",
      "GET / HTTP/1.1\r\n: a\r\n",
      "GET / HTTP/1.1\r\nHost : a\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n more\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n",
      "GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: a\r\n",
      "GET / HTTP/1.1\r\nHost: a\x7f\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 3\r\n",
      "POST / HTTP/1.1\r\nContent-Length: -1\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
  };
  S2HttpRequest request;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[200];
    strcat(strcpy(text, bad[i]), "\r\n");
    char *head = on_heap(text, strlen(text));
    assert_false(s2_http_read(head, strlen(text), &request));
    free(head);
  }
  static const char zero[] = "GET / HTTP/1.1\0junk\r\nHost: a\r\n\r\n";
  char *head = on_heap(zero, sizeof zero - 1);
  assert_false(s2_http_read(head, sizeof zero - 1, &request));
  free(head);
}

static void test_accept(void **state) {
  (void)state;
  char accept[S2_SOCKET_ACCEPT];
  s2_socket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept); // RFC 6455, 1.3
  assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void test_frame(void **state) {
  (void)state;
  static const unsigned char hello[] = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d,
                                        0x7f, 0x9f, 0x4d, 0x51, 0x58}; // RFC 6455, 5.7
  S2SocketFrame frame;
  for (size_t part = 0; part <= sizeof hello; part++) {
    unsigned char *bytes = (unsigned char *)on_heap(hello, part);
    assert_int_equal(s2_socket_read(bytes, part, 511, &frame), 0);
    assert_int_equal(frame.whole, part < sizeof hello ? 0 : sizeof hello);
    if (frame.whole > 0) {
      assert_int_equal(frame.opcode, S2_SOCKET_TEXT);
      assert_int_equal(frame.size, 5);
      assert_memory_equal(frame.payload, "Hello", 5);
    }
    free(bytes);
  }
}

static void test_refused_frames(void **state) {
  (void)state;
  static const struct {
    unsigned char bytes[4];
    size_t count;
    int end;
  } bad[] = {
      {{0x81, 0x05}, 2, S2_SOCKET_WRONG},                // not masked
      {{0xc1, 0x85}, 2, S2_SOCKET_WRONG},                // a reserved bit
      {{0x83, 0x85}, 2, S2_SOCKET_WRONG},                // no such kind
      {{0x8b, 0x85}, 2, S2_SOCKET_WRONG},                // no such control frame
      {{0x09, 0x80}, 2, S2_SOCKET_WRONG},                // control in parts
      {{0x89, 0xfe}, 2, S2_SOCKET_WRONG},                // too long for a control frame
      {{0x81, 0xfe, 0x00, 0x10}, 4, S2_SOCKET_WRONG},    // 16 in two bytes
      {{0x01, 0x85}, 2, S2_SOCKET_UNKNOWN},              // text in parts
      {{0x80, 0x85}, 2, S2_SOCKET_UNKNOWN},              // a part
      {{0x82, 0x85}, 2, S2_SOCKET_UNKNOWN},              // binary
      {{0x81, 0xff}, 2, S2_SOCKET_TOO_LONG},             // eight bytes of length
      {{0x81, 0xfe, 0x02, 0x00}, 4, S2_SOCKET_TOO_LONG}, // 512
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    unsigned char *bytes = (unsigned char *)on_heap(bad[i].bytes, bad[i].count);
    S2SocketFrame frame;
    assert_int_equal(s2_socket_read(bytes, bad[i].count, 511, &frame), bad[i].end);
    free(bytes);
  }
}

static void test_headers(void **state) {
  (void)state;
  unsigned char header[S2_SOCKET_HEADER];
  assert_int_equal(s2_socket_header(S2_SOCKET_TEXT, 125, header), 2);
  assert_memory_equal(header, "\x81\x7d", 2);
  assert_int_equal(s2_socket_header(S2_SOCKET_BINARY, 126, header), 4);
  assert_memory_equal(header, "\x82\x7e\x00\x7e", 4);
  assert_int_equal(s2_socket_header(S2_SOCKET_BINARY, 65536, header), 10);
  assert_memory_equal(header, "\x82\x7f\0\0\0\0\0\x01\0\0", 10);
}

// For any input, the results lie within its bytes.
static void test_damaged(void **state) {
  (void)state;
  enum { TRIES = 20000 };
  S2Rng rng = s2_rng_seeded(7);
  for (int i = 0; i < TRIES; i++) {
    size_t size = sizeof GOOD - 1;
    char *head = on_heap(GOOD, size);
    unsigned char frame[40] = {(unsigned char)(0x80 | s2_rng_next(&rng) % 16),
                               (unsigned char)(0x80 | s2_rng_next(&rng) % 128)};
    for (int k = 0; k < 4; k++) {
      head[s2_rng_next(&rng) % size] = "\r\n\0: ,Gx"[s2_rng_next(&rng) % 8];
      frame[s2_rng_next(&rng) % sizeof frame] = (unsigned char)s2_rng_next(&rng);
    }
    size_t found = s2_http_head_size(head, size);
    assert_true(found <= size);
    S2HttpRequest request;
    if (found > 0 && s2_http_read(head, found, &request)) {
      assert_int_equal(request.path[0], '/');
      assert_true(request.path > head && request.path + strlen(request.path) < head + found);
    }
    free(head);
    size_t part = s2_rng_next(&rng) % (sizeof frame + 1);
    unsigned char *bytes = (unsigned char *)on_heap(frame, part);
    S2SocketFrame read;
    if (s2_socket_read(bytes, part, 511, &read) == 0 && read.whole > 0) {
      assert_true(read.whole <= part && read.payload + read.size == bytes + read.whole);
    }
    free(bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_request),        cmocka_unit_test(test_refused_requests),
      cmocka_unit_test(test_accept),         cmocka_unit_test(test_frame),
      cmocka_unit_test(test_refused_frames), cmocka_unit_test(test_headers),
      cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
