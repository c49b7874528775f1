// Text that may be anything: what of it is UTF-8, how it is printed; and words near a misspelt one,
// for messages that suggest the remedy.
#ifndef S2_TEXT_H
#define S2_TEXT_H

#include <stddef.h>
#include <stdio.h>

// Bytes of the UTF-8 sequence at `at`, 0 when it is none (RFC 3629) or a character XML forbids or a
// control character that is no blank.
int s2_text_utf8(const char *at);

#define S2_TEXT_REPLACEMENT "\xef\xbf\xbd" // U+FFFD: stands for bytes that are no text

// Text out of a file for a line of a terminal or a message: control characters, line ends among
// them, and bytes that are no text become \xNN. `to` gets whole characters, as many as fit.
void s2_text_escape(char *to, size_t size, const char *from);
void s2_text_print(FILE *file, const char *text);

// The nearest of `count` names within two edits and less than half the word's length (insert,
// delete, replace, swap of neighbours each cost one), or NULL. Ties go to the first.
const char *s2_text_nearest(const char *word, const char *const *names, int count);

#endif
