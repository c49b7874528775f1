// Sanitizers check the code, not the digits, and make it several times slower: a part of the random
// scenes is enough for them. S2_FEWER(n, m) is n, with AddressSanitizer m.
#ifndef S2_TEST_SANITIZED_H
#define S2_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define S2_FEWER(all, some) (some)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define S2_FEWER(all, some) (some)
#endif
#endif
#ifndef S2_FEWER
#define S2_FEWER(all, some) (all)
#endif

#endif
