// Words near a misspelt one, for messages that suggest the remedy.
#ifndef S2_TEXT_H
#define S2_TEXT_H

// The nearest of `count` names within two edits and less than half the word's length (insert,
// delete, replace, swap of neighbours each cost one), or NULL. Ties go to the first.
const char *s2_text_nearest(const char *word, const char *const *names, int count);

#endif
