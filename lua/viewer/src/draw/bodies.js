// Draws the bodies of a frame.
import { bodyPaint } from "./palette.js";
import { addOutline, clipped, markOf, reachOf, rimsOf } from "./shapes.js";

const HUGE = 20000; // pixels: larger outlines are clipped before they are drawn
const SMALLEST_DOTTED = 9; // pixels from centre to rim of a body that gets a dot in its centre
const SEAM = 0.5; // pixels: hides the seams between the pieces of a body

const layerOf = (body) =>
  body.sensor ? 1 : body.type === "static" ? 0 : body.type === "kinematic" ? 2 : 3;

// Made once for each scene: paths in body frames and the order of drawing.
function prepare(scene) {
  const bodies = scene.bodies.map((body, index) => {
    const path = new Path2D(),
      reach = reachOf(body);
    for (const shape of body.shapes) addOutline(path, shape.vertices, shape.radius);
    const mark = body.type === "static" || body.sensor ? 0 : markOf(body);
    const bare =
      body.shapes.length > 0 &&
      body.shapes.every((shape) => shape.vertices.length === 4 && shape.radius === 0);
    const outline = new Path2D(path);
    if (mark > 0) {
      outline.moveTo(0, 0);
      outline.lineTo(mark, 0);
    }
    return {
      body,
      index,
      path,
      outline,
      mark,
      reach,
      bare,
      pieces: body.shapes.length > 1 && !bare,
      disc: body.shapes.length === 1 && body.shapes[0].vertices.length === 2 ? body.shapes[0] : null,
      rims: null, // for lines of width `rimmed`
      rimmed: 0,
      dot: body.type !== "static" && !body.sensor,
    };
  });
  const sizes = bodies.filter(
    ({ body, reach }) => body.type !== "static" && reach > 0 && reach < Infinity,
  );
  return {
    bodies,
    order: bodies.slice().sort((a, b) => layerOf(a.body) - layerOf(b.body) || a.index - b.index),
    size: sizes.reduce((sum, { reach }) => sum + 2 * reach, 0) / Math.max(sizes.length, 1),
    bySerial: new Map(scene.bodies.map((body, index) => [body.serial, index])),
    theme: null,
  };
}

const cache = new WeakMap();

export function preparedScene(scene, theme) {
  let prepared = cache.get(scene);
  if (prepared === undefined) cache.set(scene, (prepared = prepare(scene)));
  if (theme && prepared.theme !== theme) {
    prepared.theme = theme;
    for (const entry of prepared.bodies) entry.paint = bodyPaint(entry.body, theme);
  }
  return prepared;
}

export const finitePose = (q, i) =>
  Number.isFinite(q[3 * i]) && Number.isFinite(q[3 * i + 1]) && Number.isFinite(q[3 * i + 2]);

// An outline in screen coordinates, clipped to the surroundings of the screen.
function hugeOutline(entry, view, angle, sx, sy) {
  const path = new Path2D(),
    c = view.scale * Math.cos(angle),
    s = view.scale * Math.sin(angle);
  for (const shape of entry.body.shapes) {
    const at = [],
      radius = shape.radius * view.scale,
      room = Math.min(radius, HUGE) + 60;
    for (let i = shape.vertices.length - 2; i >= 0; i -= 2) {
      // mirrored: the orientation is reversed
      const x = shape.vertices[i],
        y = shape.vertices[i + 1];
      at.push(sx + c * x - s * y, sy - s * x - c * y);
    }
    const cut =
      at.length > 2 ? clipped(at, [-room, -room], [view.width + room, view.height + room]) : at;
    if (cut.length > 0) addOutline(path, cut, radius);
  }
  return path;
}

// Width of outlines: small bodies get thin ones, which leave room for their fill.
export function lineWidth(prepared, view) {
  const size = prepared.size > 0 ? prepared.size * view.scale : 100;
  return Math.max(Math.min(1.5, 0.07 * size), 0.4);
}

// A line around a body is the part of a larger body that it does not cover: without a graphics card
// two fills take half the time of a fill and a stroke. Returns false if this body cannot be drawn
// so.
function paintRims(ctx, entry, paths, width) {
  const { body, paint } = entry;
  if (body.shapes.length !== 1 || entry.bare || paths !== entry) return false;
  if (entry.rimmed !== width) {
    entry.rimmed = width;
    entry.rims = rimsOf(body.shapes[0], width);
  }
  if (entry.rims === null) return false;
  ctx.fillStyle = paint.stroke;
  ctx.fill(entry.rims.outer);
  ctx.fillStyle = paint.fill;
  ctx.fill(entry.rims.inner);
  if (entry.mark > 0) {
    ctx.fillStyle = paint.stroke;
    ctx.fillRect(0, -0.5 * width, entry.mark, width);
  }
  return true;
}

// A disc, in pixels of the view: circles are drawn faster than paths that contain one.
function paintDisc(ctx, entry, view, angle, sx, sy, width) {
  const { disc, paint } = entry,
    { scale } = view;
  const c = Math.cos(angle),
    s = Math.sin(angle);
  const [vx, vy] = disc.vertices;
  const x = sx + scale * (c * vx - s * vy),
    y = sy - scale * (s * vx + c * vy);
  const w = (paint.wide ? 1.7 : 1) * width,
    radius = disc.radius * scale;
  // the outline is a disc of its colour below that of the filling: no path to stroke
  ctx.fillStyle = paint.stroke;
  ctx.beginPath();
  ctx.arc(x, y, radius + 0.5 * w, 0, 2 * Math.PI);
  ctx.fill();
  if (radius <= 0.5 * w) return;
  ctx.fillStyle = paint.fill;
  ctx.beginPath();
  ctx.arc(x, y, radius - 0.5 * w, 0, 2 * Math.PI);
  ctx.fill();
  // the mark shows the angle
  if (entry.mark > 0) {
    const length = entry.mark * scale;
    ctx.strokeStyle = paint.stroke;
    ctx.lineWidth = w;
    ctx.beginPath();
    ctx.moveTo(sx, sy);
    ctx.lineTo(sx + length * c, sy - length * s);
    ctx.stroke();
  }
}

function paintBody(ctx, entry, paths, width, pixel) {
  const { paint } = entry;
  ctx.fillStyle = paint.fill;
  ctx.strokeStyle = paint.stroke;
  if (paint.dash) ctx.setLineDash([4 * pixel, 4 * pixel]);
  const w = (paint.wide ? 1.7 : 1) * (entry.bare ? Math.max(2.2, width) : width) * pixel;
  if (entry.pieces && paint.opaque) {
    // Pieces of one body have to look like one: all outlines first, then the fills over them.
    ctx.lineWidth = 1.5 * w + SEAM * pixel;
    ctx.stroke(paths.path);
    ctx.fill(paths.path);
    ctx.lineWidth = SEAM * pixel;
    ctx.strokeStyle = paint.fill;
    ctx.stroke(paths.path);
    if (paths.mark > 0) {
      ctx.strokeStyle = paint.stroke;
      ctx.lineWidth = w;
      ctx.beginPath();
      ctx.moveTo(0, 0);
      ctx.lineTo(paths.mark, 0);
      ctx.stroke();
    }
    return;
  }
  if (paint.opaque && !paint.dash && paintRims(ctx, entry, paths, w)) return;
  if (!entry.bare) ctx.fill(paths.path);
  ctx.lineWidth = w;
  ctx.stroke(paths.outline);
  if (paint.dash) ctx.setLineDash([]);
}

function dot(ctx, paint, x, y, radius) {
  ctx.fillStyle = paint.stroke;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

// Returns the number of bodies without a finite pose; they are not drawn.
export function drawBodies(ctx, view, frame, theme, ratio) {
  const prepared = preparedScene(frame.scene, theme);
  const { q } = frame,
    width = lineWidth(prepared, view);
  let lost = 0,
    turned = true; // the canvas, to a body's frame
  for (const entry of prepared.order) {
    const i = entry.index;
    if (!finitePose(q, i)) {
      lost++;
      continue;
    }
    const angle = q[3 * i],
      reach = entry.reach * view.scale;
    const sx = (q[3 * i + 1] - view.x) * view.scale + view.width / 2;
    const sy = view.height / 2 - (q[3 * i + 2] - view.y) * view.scale;
    if (
      sx + reach < -10 ||
      sx - reach > view.width + 10 ||
      sy + reach < -10 ||
      sy - reach > view.height + 10
    ) {
      continue;
    }
    if (reach > HUGE) {
      const path = hugeOutline(entry, view, angle, sx, sy);
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      turned = false;
      paintBody(ctx, entry, { path, outline: path, mark: 0 }, width, 1);
      continue;
    }
    const { paint } = entry;
    if (entry.disc && paint.opaque && !paint.dash) {
      if (turned) ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      turned = false;
      paintDisc(ctx, entry, view, angle, sx, sy, width);
      if (entry.dot && reach > SMALLEST_DOTTED) dot(ctx, paint, sx, sy, 1.1 * width);
      continue;
    }
    const c = ratio * view.scale * Math.cos(angle),
      s = ratio * view.scale * Math.sin(angle);
    ctx.setTransform(c, -s, -s, -c, ratio * sx, ratio * sy);
    turned = true;
    paintBody(ctx, entry, entry, width, 1 / view.scale);
    if (entry.dot && reach > SMALLEST_DOTTED) dot(ctx, paint, 0, 0, (1.1 * width) / view.scale);
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return lost;
}

// A line in the accent colour around a body.
export function drawHalo(ctx, view, frame, i, theme, ratio) {
  const entry = preparedScene(frame.scene, theme).bodies[i];
  if (!finitePose(frame.q, i)) return;
  const angle = frame.q[3 * i],
    [sx, sy] = view.toScreen([frame.q[3 * i + 1], frame.q[3 * i + 2]]);
  let path = entry.path,
    pixel = 1;
  if (entry.reach * view.scale > HUGE) {
    path = hugeOutline(entry, view, angle, sx, sy);
  } else {
    const c = ratio * view.scale * Math.cos(angle),
      s = ratio * view.scale * Math.sin(angle);
    ctx.setTransform(c, -s, -s, -c, ratio * sx, ratio * sy);
    pixel = 1 / view.scale;
  }
  ctx.lineWidth = 5.5 * pixel;
  ctx.strokeStyle = theme.halo;
  ctx.stroke(path);
  ctx.lineWidth = 2.6 * pixel;
  ctx.strokeStyle = theme.accent;
  ctx.stroke(path);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
}
