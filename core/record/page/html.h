// Writes a recording as a page that plays itself. The page contains the player
// (record/page/page.h), followed by the .s2d recording in lines of base64. Like a .s2d file, it is
// append-only and can be opened even if the writer was killed.
#ifndef S2_HTML_H
#define S2_HTML_H

#include "record/s2d/output.h"
#include "record/s2d/s2d_write.h"

typedef struct S2HtmlWriter {
  S2S2dWriter s2d;
  S2Output memory; // output of the .s2d writer
  char *bytes;     // contents of `memory`
  size_t size;
  unsigned char *text; // buffer for a line of base64
  size_t text_capacity;
  size_t block; // bytes in the open data block, or 0 if no block is open
} S2HtmlWriter;

// Base64. The first function returns the number of letters for a number of bytes, the second one
// converts bytes to letters.
size_t s2_html_encoded(size_t size);
void s2_html_encode(unsigned char *text, const unsigned char *bytes, size_t size);

// Returns S2_UNAVAILABLE if this build has no page.
S2Status s2_html_available(void);

// Begins the page. Later failures of the file are stored in `output`.
S2Status s2_html_start(S2HtmlWriter *writer, S2Output *output, const S2Run *run);
S2Status s2_html_frame(S2HtmlWriter *writer, S2Output *output, const S2Moment *moment);
S2Status s2_html_plot(S2HtmlWriter *writer, S2Output *output, const char *name, const char *svg);
S2Status s2_html_decisions(S2HtmlWriter *writer, S2Output *output, const uint32_t *decisions,
                           int count);
S2Status s2_html_end(S2HtmlWriter *writer, S2Output *output);
void s2_html_free(S2HtmlWriter *writer); // accepts a structure of zeros

#endif
