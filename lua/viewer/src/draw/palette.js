// Colours of the pictures (core/record), for a light and a dark page.

const FILLS = [0x6096db, 0xf7bd7c, 0x4d9d79, 0xf4adb9, 0x8473c5, 0x97d8da, 0xbd6f57, 0xe9d06c];
const OUTLINE_DARKNESS = 0.62;
const DISABLED_ALPHA = 0.28,
  SENSOR_ALPHA = 0.16;

// `lines`: colours of plots.
const THEMES = {
  light: {
    background: "#fcfbf8",
    grid: "#2e344012",
    axis: "#2e34402c",
    ink: "#2e3440",
    faint: "#2e344090",
    halo: "#fcfbf8d8",
    staticFill: 0xdedad2,
    staticLine: 0x8b867c,
    kinematicFill: 0xb9c3d1,
    kinematicLine: 0x3b4a61,
    normal: "#c4263a",
    sticking: "#0f6a4c",
    sliding: "#f29a1f",
    error: "#c4263a",
    velocity: "#3566c4",
    joint: "#ffffff",
    accent: "#2f6fb7",
    lines: ["#3a72b8", "#c8691a", "#2c8a5c", "#b8465a", "#7460b8", "#2a8791", "#8a6547", "#9a7b10"],
  },
  dark: {
    background: "#16181d",
    grid: "#e6e9ef10",
    axis: "#e6e9ef2c",
    ink: "#e6e9ef",
    faint: "#e6e9ef80",
    halo: "#16181dd8",
    staticFill: 0x33373f,
    staticLine: 0x757d8c,
    kinematicFill: 0x48546a,
    kinematicLine: 0xa9b8cf,
    normal: "#ff6b78",
    sticking: "#3fb98c",
    sliding: "#ffc15e",
    error: "#ff6b78",
    velocity: "#86b2ff",
    joint: "#16181d",
    accent: "#7fb2ea",
    lines: ["#7aaeea", "#f2ab6e", "#7fcfa0", "#f08c9c", "#b3a2ea", "#67c8d2", "#cba98e", "#e6cb6a"],
  },
};

export function themeOf(dark) {
  return dark ? THEMES.dark : THEMES.light;
}

function css(rgb, alpha) {
  return `rgba(${(rgb >>> 16) & 255},${(rgb >>> 8) & 255},${rgb & 255},${alpha})`;
}

function scaled(rgb, factor) {
  const part = (shift) => Math.floor(factor * ((rgb >>> shift) & 255)) << shift;
  return part(16) | part(8) | part(0);
}

// { fill, stroke, dash, opaque, wide } of a body.
export function bodyPaint(body, theme) {
  let alpha = 1,
    strokeAlpha = 1;
  let fill = FILLS[(body.index + FILLS.length - 1) % FILLS.length],
    stroke = scaled(fill, OUTLINE_DARKNESS);
  // by type, then by the colour of the script, then by the interactions that the body lacks
  if (body.type === "static") {
    fill = theme.staticFill;
    stroke = theme.staticLine;
  } else if (body.type === "kinematic") {
    fill = theme.kinematicFill;
    stroke = theme.kinematicLine;
  }
  if (body.color !== 0) {
    fill = body.color >>> 8;
    alpha = (body.color & 255) / 255;
    stroke = body.type === "kinematic" ? theme.kinematicLine : scaled(fill, OUTLINE_DARKNESS);
  }
  if (body.sensor) alpha *= SENSOR_ALPHA;
  if (!body.enabled) {
    alpha *= DISABLED_ALPHA;
    strokeAlpha = DISABLED_ALPHA;
  }
  return {
    fill: css(fill, alpha),
    stroke: css(stroke, strokeAlpha),
    trail: css(fill, 0.9),
    opaque: alpha === 1,
    dash: body.sensor,
    wide: body.type === "kinematic",
  };
}
