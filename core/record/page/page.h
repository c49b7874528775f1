// The page of the player and the live viewer. It is one HTML file, bundled from lua/viewer when the
// library is built.
#ifndef S2_PAGE_H
#define S2_PAGE_H

#include <stddef.h>

// Returns NULL and size 0 if the library was built without the page. In this case s2_page_missing
// returns the reason, otherwise NULL.
const unsigned char *s2_page_bytes(size_t *size);
const char *s2_page_missing(void);

#endif
