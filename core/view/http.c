#include "view/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// ---- Requests ---------------------------------------------------------------------------------

size_t s2_http_head_size(const char *bytes, size_t count) {
  for (size_t i = 3; i < count; i++) {
    if (memcmp(bytes + i - 3, "\r\n\r\n", 4) == 0) {
      return i + 1;
    }
  }
  return 0;
}

// Ends the line at `at` with a 0. Returns the next line.
static char *cut_line(char *at, const char *end) {
  for (; at + 1 < end; at++) {
    if (at[0] == '\r' && at[1] == '\n') {
      *at = '\0';
      return at + 2;
    }
  }
  return NULL;
}

// Returns true if no character of the text would end a string or a line early.
static bool is_clean(const char *head, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)head[i];
    bool line_end = (c == '\r' && i + 1 < size && head[i + 1] == '\n') ||
                    (c == '\n' && i > 0 && head[i - 1] == '\r');
    if ((c < ' ' && c != '\t' && !line_end) || c == 0x7f) {
      return false;
    }
  }
  return true;
}

// "GET /path?query HTTP/1.1"
static bool read_first_line(char *line, S2HttpRequest *request) {
  size_t method = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  char *path = line + method + 1;
  if (method == 0 || line[method] != ' ' || *path != '/') {
    return false;
  }
  // Parse METHOD PATH VERSION, separated by single blanks.
  char *version = strchr(path, ' ');
  if (version == NULL || (strcmp(version, " HTTP/1.1") != 0 && strcmp(version, " HTTP/1.0") != 0)) {
    return false;
  }
  line[method] = *version = '\0';
  char *query = strchr(path, '?');
  if (query != NULL) {
    *query++ = '\0';
  }
  request->method = line;
  request->path = path;
  request->query = query;
  return true;
}

// Returns true if the word is in a comma-separated list.
static bool http_lists(const char *list, const char *word) {
  size_t length = strlen(word);
  while (*list != '\0') {
    list += strspn(list, ", \t");
    size_t found = strcspn(list, ", \t");
    if (found == length && strncasecmp(list, word, length) == 0) {
      return true;
    }
    list += found;
  }
  return false;
}

typedef struct Headers {
  const char *upgrade, *content_length, *transfer_encoding;
  bool asks_upgrade; // true if a Connection header contains "upgrade"
} Headers;

static bool http_read_header(char *line, S2HttpRequest *request, Headers *headers) {
  // Split NAME: VALUE and remove blanks around the value.
  char *colon = line + strcspn(line, ": \t");
  if (colon == line || *colon != ':') {
    return false;
  }
  *colon = '\0';
  char *value = colon + 1 + strspn(colon + 1, " \t");
  size_t length = strlen(value);
  while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) {
    value[--length] = '\0';
  }
  // This header is a list and may occur several times.
  if (strcasecmp(line, "Connection") == 0) {
    headers->asks_upgrade |= http_lists(value, "upgrade");
    return true;
  }
  // These headers may only occur once. A repetition is an attack or a mistake.
  const struct {
    const char *name;
    const char **value;
  } known[] = {{"Host", &request->host},
               {"Origin", &request->origin},
               {"Sec-WebSocket-Key", &request->socket_key},
               {"Sec-WebSocket-Version", &request->socket_version},
               {"Upgrade", &headers->upgrade},
               {"Content-Length", &headers->content_length},
               {"Transfer-Encoding", &headers->transfer_encoding}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcasecmp(line, known[i].name) == 0) {
      bool first = *known[i].value == NULL;
      *known[i].value = value;
      return first;
    }
  }
  return true;
}

bool s2_http_read(char *head, size_t size, S2HttpRequest *request) {
  *request = (S2HttpRequest){0};
  Headers headers = {0};
  if (!is_clean(head, size)) {
    return false;
  }
  char *end = head + size, *next = cut_line(head, end);
  if (next == NULL || !read_first_line(head, request)) {
    return false;
  }
  // Read headers until an empty line.
  for (char *line = next; (next = cut_line(line, end)) != NULL && *line != '\0'; line = next) {
    if (!http_read_header(line, request, &headers)) {
      return false;
    }
  }
  // Reject requests with a body, because no supported request has one.
  request->upgrades =
      headers.asks_upgrade && headers.upgrade != NULL && http_lists(headers.upgrade, "websocket");
  bool empty = headers.content_length == NULL || strcmp(headers.content_length, "0") == 0;
  return empty && headers.transfer_encoding == NULL;
}

bool s2_http_value(const char *query, const char *name, char *value, size_t size) {
  size_t length = strlen(name);
  while (query != NULL) {
    size_t part = strcspn(query, "&");
    if (part > length && strncmp(query, name, length) == 0 && query[length] == '=') {
      size_t found = part - length - 1;
      if (found >= size) {
        return false;
      }
      memcpy(value, query + length + 1, found);
      value[found] = '\0';
      return true;
    }
    query = query[part] == '&' ? query + part + 1 : NULL;
  }
  return false;
}

// ---- The answer to a key ----------------------------------------------------------------------

static uint32_t http_turned(uint32_t word, int bits) {
  return word << bits | word >> (32 - bits);
}

// Computes the SHA-1 hash (RFC 3174) of a short text. The protocol requires SHA-1, although it is
// no longer secure.
static void http_sha1(const char *text, unsigned char digest[20]) {
  enum { BLOCK = 64, ROUNDS = 80 };
  unsigned char padded[2 * BLOCK] = {0};
  size_t size = strlen(text), blocks = size + 9 > BLOCK ? 2 : 1;
  // Append a 1 bit, zeros, and the length in bits (FIPS 180-4). The result must fit into two
  // blocks.
  memcpy(padded, text, size); // NOLINT(bugprone-not-null-terminated-result): bytes
  padded[size] = 0x80;
  padded[blocks * BLOCK - 2] = (unsigned char)(size * 8 >> 8);
  padded[blocks * BLOCK - 1] = (unsigned char)(size * 8);
  uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t block = 0; block < blocks; block++) {
    uint32_t w[ROUNDS] = {0}, a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];
    // Each of the 80 rounds uses a word that is computed from earlier words.
    for (size_t i = 0; i < ROUNDS; i++) {
      const unsigned char *at = padded + block * BLOCK + 4 * i;
      w[i] = i < 16 ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
                    : http_turned(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
      uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                       : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                       : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                : (b ^ c ^ d) + 0xca62c1d6;
      uint32_t next = http_turned(a, 5) + mixed + e + w[i];
      e = d;
      d = c;
      c = http_turned(b, 30);
      b = a;
      a = next;
    }
    // Add the sums modulo 2^32.
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
  }
  for (size_t i = 0; i < 20; i++) {
    digest[i] = (unsigned char)(hash[i / 4] >> (24 - 8 * (i % 4)));
  }
}

void s2_socket_accept(const char *key, char accept[S2_SOCKET_ACCEPT]) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static const char secret[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455, 1.3
  char text[S2_SOCKET_KEY + sizeof secret] = "";
  unsigned char digest[21] = {0}; // one byte of padding
  snprintf(text, sizeof text, "%.*s%s", S2_SOCKET_KEY, key, secret);
  http_sha1(text, digest);
  for (size_t i = 0; i < 7; i++) {
    uint32_t three =
        (uint32_t)digest[3 * i] << 16 | (uint32_t)digest[3 * i + 1] << 8 | digest[3 * i + 2];
    for (size_t k = 0; k < 4; k++) {
      accept[4 * i + k] = digits[three >> (18 - 6 * k) & 63];
    }
  }
  accept[S2_SOCKET_ACCEPT - 2] = '=';
  accept[S2_SOCKET_ACCEPT - 1] = '\0';
}

// ---- Frames -----------------------------------------------------------------------------------

enum { LAST = 0x80, RESERVED = 0x70, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f };
enum { MASK = 4, TWO_BYTES = 126, EIGHT_BYTES = 127 };

static int check_kind(const unsigned char *bytes) {
  int opcode = bytes[0] & OPCODE;
  bool control = opcode >= S2_SOCKET_CLOSE;
  if ((bytes[0] & RESERVED) != 0 || (bytes[1] & MASKED) == 0 || opcode > S2_SOCKET_PONG ||
      (opcode > S2_SOCKET_BINARY && !control)) {
    return S2_SOCKET_WRONG;
  }
  if (control) {
    return (bytes[0] & LAST) != 0 && (bytes[1] & LENGTH) < TWO_BYTES ? 0 : S2_SOCKET_WRONG;
  }
  return opcode == S2_SOCKET_TEXT && (bytes[0] & LAST) != 0 ? 0 : S2_SOCKET_UNKNOWN;
}

int s2_socket_read(unsigned char *bytes, size_t count, size_t most, S2SocketFrame *frame) {
  *frame = (S2SocketFrame){0};
  if (count < 2) {
    return 0;
  }
  int wrong = check_kind(bytes);
  if (wrong != 0) {
    return wrong;
  }
  // Read a length of 7 bits, or of 16 bits after a marker. Reject longer frames.
  size_t header = 2, size = bytes[1] & LENGTH;
  if (size == EIGHT_BYTES) {
    return S2_SOCKET_TOO_LONG; // a frame of at least 64 kB
  }
  if (size == TWO_BYTES) {
    header = 4;
    if (count < header) {
      return 0;
    }
    size = (size_t)bytes[2] << 8 | bytes[3];
    if (size < TWO_BYTES) {
      return S2_SOCKET_WRONG; // the shorter form must be used if possible
    }
  }
  // Read a frame only when it is complete.
  if (size > most) {
    return S2_SOCKET_TOO_LONG;
  }
  if (count < header + MASK + size) {
    return 0;
  }
  // Clients must mask their data.
  const unsigned char *mask = bytes + header;
  unsigned char *payload = bytes + header + MASK;
  for (size_t i = 0; i < size; i++) {
    payload[i] ^= mask[i % MASK];
  }
  *frame = (S2SocketFrame){bytes[0] & OPCODE, payload, size, header + MASK + size};
  return 0;
}

size_t s2_socket_header(S2SocketOpcode opcode, size_t size,
                        unsigned char header[S2_SOCKET_HEADER]) {
  size_t bytes = size < TWO_BYTES ? 0 : size <= UINT16_MAX ? 2 : 8;
  header[0] = (unsigned char)(LAST | opcode);
  header[1] = (unsigned char)(bytes == 0 ? size : bytes == 2 ? TWO_BYTES : EIGHT_BYTES);
  for (size_t i = 0; i < bytes; i++) {
    header[2 + i] = (unsigned char)((uint64_t)size >> (8 * (bytes - 1 - i)));
  }
  return 2 + bytes;
}
