// Text that may be anything: UTF-8, how text is written for people, JSON and XML; and words near a
// misspelt one, for messages that suggest the remedy.
#ifndef S2_TEXT_H
#define S2_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// ---- UTF-8 (RFC 3629) -------------------------------------------------------------------------

enum { S2_UTF8_MOST = 4 }; // bytes of one code point

// Takes one code point off the front of a text that ends with 0; bytes that are no UTF-8 give
// U+FFFD, one each.
uint32_t s2_utf8_next(const char **at);
// Writes one code point, U+FFFD for what is none; returns how many bytes.
int s2_utf8_put(char bytes[S2_UTF8_MOST], uint32_t code);

// ---- Escapes ----------------------------------------------------------------------------------

// Characters are what is UTF-8 and neither a control character (but for blanks) nor one that XML
// forbids.
typedef enum S2TextForm {
  S2_TEXT_PLAIN, // for a line of a terminal or a message: blanks but ' ', and what is none, as \xNN
  S2_TEXT_CLEAN, // what is no character becomes U+FFFD
  S2_TEXT_XML,   // the same as the contents of an element
  S2_TEXT_JSON,  // the same between the quotes of a string; control characters as \u00NN
} S2TextForm;

// Takes one character off the front of `at`, as it is written; returns how many bytes, without the
// final 0.
enum { S2_TEXT_PIECE = 8 };
size_t s2_text_next(S2TextForm form, const char **at, char written[S2_TEXT_PIECE]);

// `to` gets whole characters, as many as fit.
void s2_text_escape(char *to, size_t size, const char *from); // S2_TEXT_PLAIN
void s2_text_print(FILE *file, S2TextForm form, const char *text);

// ---- Near words -------------------------------------------------------------------------------

// The nearest of `count` names within two edits and less than half the word's length (insert,
// delete, replace, swap of neighbours each cost one), or NULL. Ties go to the first.
const char *s2_text_nearest(const char *word, const char *const *names, int count);

#endif
