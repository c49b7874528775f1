// Text of scenes, which may hold any bytes, for back ends that want UTF-8.
#ifndef S2_RECORD_TEXT_H
#define S2_RECORD_TEXT_H

// Bytes of the UTF-8 sequence at `at`, 0 when it is none (RFC 3629) or a character XML forbids.
int s2_text_utf8(const char *at);

#define S2_TEXT_REPLACEMENT "\xef\xbf\xbd" // U+FFFD: stands for bytes that are no text

#endif
