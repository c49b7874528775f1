// The colours of pictures. The player (lua/viewer/src) uses the same colours. Neighbours in the
// palette also differ in lightness, so that they can be distinguished in grey. So do the two kinds
// of friction.
#ifndef S2_PALETTE_H
#define S2_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

// All colours are 0xRRGGBBAA.
typedef struct S2Theme {
  uint32_t background;
  uint32_t ink;   // text, outlines of symbols
  uint32_t faint; // colour of unimportant parts
  uint32_t halo;  // slightly transparent background behind text and arrows
  uint32_t static_fill, static_line;
  uint32_t kinematic_fill, kinematic_line;
  uint32_t normal, sticking, sliding; // impulses
  uint32_t error;
} S2Theme;

static inline const S2Theme *s2_theme(bool dark) {
  // The light palette, then the dark palette.
  static const S2Theme themes[2] = {
      {
          .background = 0xfcfbf8ff,
          .ink = 0x2e3440ff,
          .faint = 0x2e344090,
          .halo = 0xfcfbf8d8,
          .static_fill = 0xdedad2ff,
          .static_line = 0x8b867cff,
          .kinematic_fill = 0xb9c3d1ff,
          .kinematic_line = 0x3b4a61ff,
          .normal = 0xc4263aff,
          .sticking = 0x0f6a4cff,
          .sliding = 0xf29a1fff,
          .error = 0xc4263aff,
      },
      {
          .background = 0x16181dff,
          .ink = 0xe6e9efff,
          .faint = 0xe6e9ef80,
          .halo = 0x16181dd8,
          .static_fill = 0x33373fff,
          .static_line = 0x757d8cff,
          .kinematic_fill = 0x48546aff,
          .kinematic_line = 0xa9b8cfff,
          .normal = 0xff6b78ff,
          .sticking = 0x3fb98cff,
          .sliding = 0xffc15eff,
          .error = 0xff6b78ff,
      },
  };
  return &themes[dark ? 1 : 0];
}

// Returns the fill colour of the body in a slot (from 0). The outline is a darker shade of it.
static inline uint32_t s2_palette(uint32_t slot) {
  static const uint32_t colors[] = {
      0x6096dbff, 0xf7bd7cff, 0x4d9d79ff, 0xf4adb9ff,
      0x8473c5ff, 0x97d8daff, 0xbd6f57ff, 0xe9d06cff,
  };
  return colors[slot % (sizeof colors / sizeof colors[0])];
}

#endif
