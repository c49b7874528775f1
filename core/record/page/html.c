#include "record/page/html.h"

#include "base/memory.h"
#include "record/page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_START "<script type=\"application/x-s2d\">\n"
#define BLOCK_END   "</script>\n"

// Browsers store the text of an element as one string of limited length. A block ends when it
// reaches this size.
enum { BLOCK_SIZE = 1 << 20 };

S2Status s2_html_available(void) {
  const char *missing = s2_page_missing();
  if (missing != NULL) {
    return s2_error(S2_UNAVAILABLE,
                    "recording .html needs the player's page, which this build lacks: %s; record "
                    ".s2d, or install node and npm and build again",
                    missing);
  }
  return s2_ok();
}

// ---- Base64 -----------------------------------------------------------------------------------

size_t s2_html_encoded(size_t size) {
  return (size + 2) / 3 * 4;
}

void s2_html_encode(unsigned char *text, const unsigned char *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    uint32_t word = (uint32_t)bytes[i] << 16;
    word |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
    word |= i + 2 < size ? bytes[i + 2] : 0;
    *text++ = (unsigned char)digits[word >> 18];
    *text++ = (unsigned char)digits[word >> 12 & 63];
    *text++ = (unsigned char)(i + 1 < size ? digits[word >> 6 & 63] : '=');
    *text++ = (unsigned char)(i + 2 < size ? digits[word & 63] : '=');
  }
}

// ---- The file ---------------------------------------------------------------------------------

// Writes the output of the .s2d writer since the last call as a line.
static S2Status write_line(S2HtmlWriter *writer, S2Output *output) {
  S2_TRY(s2_output_flush(&writer->memory)); // updates the buffer and its size
  // Use the position as the length, because `size` may include the end of an earlier, longer line.
  long size = ftell(writer->memory.file);
  if (size < 0 || fseek(writer->memory.file, 0, SEEK_SET) != 0) {
    return s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(output->path), strerror(errno));
  }
  if (size == 0) {
    return s2_ok();
  }
  // Write the line to memory that is reused for the next line.
  size_t length = s2_html_encoded((size_t)size) + 1;
  if (length > writer->text_capacity) {
    writer->text = s2_memory_grow(writer->text, 2 * length);
    writer->text_capacity = 2 * length;
  }
  s2_html_encode(writer->text, (const unsigned char *)writer->bytes, (size_t)size);
  writer->text[length - 1] = '\n';
  // Append the line to the block, and close the block if it is full. The next line then opens a new
  // one.
  if (writer->block == 0) {
    s2_output_text(output, BLOCK_START);
  }
  s2_output_bytes(output, writer->text, length);
  writer->block += length;
  if (writer->block >= BLOCK_SIZE) {
    s2_output_text(output, BLOCK_END);
    writer->block = 0;
  }
  return s2_ok();
}

S2Status s2_html_start(S2HtmlWriter *writer, S2Output *output, const S2Run *run) {
  writer->memory.path = output->path; // for messages
  size_t size = 0;
  const unsigned char *page = s2_page_bytes(&size);
  writer->memory.file = open_memstream(&writer->bytes, &writer->size);
  if (writer->memory.file == NULL) {
    return s2_error(S2_IO, "cannot write '%s': %s", s2_path_tail(output->path), strerror(errno));
  }
  s2_output_bytes(output, page, size);
  s2_s2d_start(&writer->s2d, &writer->memory, run);
  return write_line(writer, output);
}

S2Status s2_html_frame(S2HtmlWriter *writer, S2Output *output, const S2Moment *moment) {
  S2_TRY(s2_s2d_frame(&writer->s2d, &writer->memory, moment));
  return write_line(writer, output);
}

S2Status s2_html_plot(S2HtmlWriter *writer, S2Output *output, const char *name, const char *svg) {
  S2_TRY(s2_s2d_plot(&writer->s2d, &writer->memory, name, svg));
  return write_line(writer, output);
}

S2Status s2_html_decisions(S2HtmlWriter *writer, S2Output *output, const uint32_t *decisions,
                           int count) {
  S2_TRY(s2_s2d_decisions(&writer->s2d, &writer->memory, decisions, count));
  return write_line(writer, output);
}

S2Status s2_html_end(S2HtmlWriter *writer, S2Output *output) {
  if (writer->memory.file == NULL) {
    return s2_ok(); // the recording could not be started
  }
  s2_s2d_end(&writer->s2d, &writer->memory);
  S2_TRY(write_line(writer, output));
  if (writer->block > 0) {
    s2_output_text(output, BLOCK_END);
  }
  return s2_ok();
}

void s2_html_free(S2HtmlWriter *writer) {
  if (writer->memory.file != NULL) {
    (void)fclose(writer->memory.file);
  }
  free(writer->bytes); // allocated by open_memstream
  s2_memory_free(writer->text);
  s2_s2d_free(&writer->s2d);
  *writer = (S2HtmlWriter){0};
}
