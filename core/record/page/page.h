// The page of the player and the live viewer as bytes: one HTML file, bundled from lua/viewer when
// the library was built.
#ifndef S2_PAGE_H
#define S2_PAGE_H

#include <stddef.h>

// NULL and size 0 when the library was built without it; then s2_page_missing tells why (else it is
// NULL).
const unsigned char *s2_page_bytes(size_t *size);
const char *s2_page_missing(void);

#endif
