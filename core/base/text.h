// Functions for UTF-8 text. They write escapes for terminals, JSON and XML, and find the name
// nearest to a misspelt word, for suggestions in messages.
#ifndef S2_TEXT_H
#define S2_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// ---- UTF-8 (RFC 3629) -------------------------------------------------------------------------

enum { S2_UTF8_MOST = 4 }; // largest number of bytes of one code point.

// Reads one code point from a text that ends with 0, and advances `at`. Each byte that is not valid
// UTF-8 becomes U+FFFD.
uint32_t s2_utf8_next(const char **at);
// Writes one code point (U+FFFD if it is invalid) and returns the number of bytes.
int s2_utf8_put(char bytes[S2_UTF8_MOST], uint32_t code);

// ---- Escapes ----------------------------------------------------------------------------------

// A character is valid if it is UTF-8 and is neither a control character (except blanks) nor
// forbidden in XML.
typedef enum S2TextForm {
  S2_TEXT_PLAIN, // for a line on a terminal or in a message: invalid bytes, and blanks other than
                 // spaces, become \xNN
  S2_TEXT_CLEAN, // invalid characters become U+FFFD
  S2_TEXT_XML,   // for the contents of an XML element; invalid characters become U+FFFD
  S2_TEXT_JSON,  // for a JSON string without its quotes; control characters become \u00NN
} S2TextForm;

// Reads one character, advances `at`, and writes the escaped form of the character. Returns the
// number of bytes written, without the final 0.
enum { S2_TEXT_PIECE = 8 };
size_t s2_text_next(S2TextForm form, const char **at, char written[S2_TEXT_PIECE]);

// Writes as many complete characters as fit into `to`.
void s2_text_escape(char *to, size_t size, const char *from); // S2_TEXT_PLAIN
void s2_text_print(FILE *file, S2TextForm form, const char *text);

// ---- Near words -------------------------------------------------------------------------------

// Returns the nearest of `count` names, or NULL if none is close enough. The distance counts
// letters that are inserted, deleted, replaced, or swapped with a neighbour. It must be at most 2
// and less than half the length of the word. If two names are equally near, the first one is
// returned.
const char *s2_text_nearest(const char *word, const char *const *names, int count);

#endif
