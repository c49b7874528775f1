// Draws the data of a frame on top of its bodies: contacts, impulses, joints, velocities, centres
// of mass, names, trails, and the scale.
import { finitePose, preparedScene } from "./bodies.js";

const finite = (p) => Number.isFinite(p[0]) && Number.isFinite(p[1]);

function dot(ctx, [x, y], radius, fill, stroke, width) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) {
    ctx.fillStyle = fill;
    ctx.fill();
  }
  if (stroke) {
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width;
    ctx.stroke();
  }
}

function line(ctx, from, to, stroke, width) {
  ctx.strokeStyle = stroke;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(from[0], from[1]);
  ctx.lineTo(to[0], to[1]);
  ctx.stroke();
}

// ---- Arrows -----------------------------------------------------------------------------------

// kind "solid": a filled head; "open": a dashed shaft and two strokes. They differ without colour.
export function drawArrow(ctx, [x, y], [dx, dy], color, halo, kind = "solid", width = 1.8) {
  const length = Math.hypot(dx, dy);
  if (!(length > 0)) return;
  const ux = dx / length,
    uy = dy / length,
    head = Math.min(4.2 * width, 0.75 * length);
  const tip = [x + dx, y + dy],
    half = 0.42 * head;
  const back = [tip[0] - head * ux, tip[1] - head * uy];
  const left = [back[0] - half * uy, back[1] + half * ux],
    right = [back[0] + half * uy, back[1] - half * ux];
  const shaft = kind === "open" ? tip : [back[0] + 0.3 * head * ux, back[1] + 0.3 * head * uy];
  const trace = (dashes) => {
    ctx.setLineDash(dashes);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(shaft[0], shaft[1]);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(left[0], left[1]);
    ctx.lineTo(tip[0], tip[1]);
    ctx.lineTo(right[0], right[1]);
    if (kind === "open") {
      ctx.stroke();
    } else {
      ctx.closePath();
      ctx.fill();
    }
  };
  ctx.strokeStyle = ctx.fillStyle = halo;
  ctx.lineWidth = width + 2.4;
  trace([]);
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.lineWidth = width;
  trace(kind === "open" ? [3.2, 2] : []);
}

// of an arrow, relative to that of the reference, so that impacts do not fill the screen
const LONGEST = 2;

export function arrowUnit(prepared, view) {
  const body = prepared.size > 0 ? prepared.size * view.scale : 60;
  return Math.min(Math.max(0.65 * body, 22), 0.14 * Math.min(view.width, view.height));
}

function vectorArrow(ctx, at, vector, reference, unit, color, theme, kind) {
  const size = Math.hypot(vector[0], vector[1]);
  if (!(size > 1e-3 * reference) || !Number.isFinite(size)) return;
  const length = Math.max(unit * Math.min(size / reference, LONGEST), 7);
  const width = Math.min(Math.max(unit / 24, 1.2), 2.4);
  drawArrow(
    ctx,
    at,
    [(vector[0] / size) * length, (-vector[1] / size) * length],
    color,
    theme.halo,
    kind,
    width,
  );
}

// ---- Contacts ---------------------------------------------------------------------------------

// Arrows show the impulse on the moving body; if both move, on the one that is carried.
function shownSide(scene, contact) {
  const a = scene.bodies[contact.a].type === "dynamic",
    b = scene.bodies[contact.b].type === "dynamic";
  if (a !== b) return a ? 1 : -1;
  const [gx, gy] = scene.settings.gravity;
  return contact.normal[0] * gx + contact.normal[1] * gy <= 0 ? 1 : -1;
}

export function drawContactPoints(ctx, view, frame, theme) {
  const prepared = preparedScene(frame.scene, theme);
  const radius = Math.min(Math.max(0.05 * prepared.size * view.scale, 1.4), 3);
  for (const contact of frame.contacts) {
    const at = view.toScreen(contact.point);
    if (!finite(at)) continue;
    if (contact.normalImpulse > 0) dot(ctx, at, radius, theme.ink);
    else dot(ctx, at, radius, theme.halo, theme.ink, 0.9);
  }
}

export function drawImpulses(ctx, view, frame, theme, shown, reference) {
  const unit = arrowUnit(preparedScene(frame.scene, theme), view);
  const draw = (contact, size, direction, color, kind) => {
    const at = view.toScreen(contact.point),
      side = shownSide(frame.scene, contact) * size;
    if (
      !finite(at) ||
      at[0] < -99 ||
      at[1] < -99 ||
      at[0] > view.width + 99 ||
      at[1] > view.height + 99
    )
      return;
    vectorArrow(
      ctx,
      at,
      [side * direction[0], side * direction[1]],
      reference,
      unit,
      color,
      theme,
      kind,
    );
  };
  for (const contact of shown.normals ? frame.contacts : []) {
    if (contact.normalImpulse > 0)
      draw(contact, contact.normalImpulse, contact.normal, theme.normal, "solid");
  }
  for (const contact of shown.friction ? frame.contacts : []) {
    const left = [-contact.normal[1], contact.normal[0]];
    draw(
      contact,
      contact.tangentImpulse,
      left,
      contact.sliding ? theme.sliding : theme.sticking,
      contact.sliding ? "open" : "solid",
    );
  }
}

// ---- Bodies -----------------------------------------------------------------------------------

export function drawVelocities(ctx, view, frame, theme, reference) {
  const unit = arrowUnit(preparedScene(frame.scene, theme), view);
  frame.scene.bodies.forEach((body, i) => {
    if (body.type === "static" || !finitePose(frame.q, i)) return;
    vectorArrow(
      ctx,
      view.toScreen([frame.q[3 * i + 1], frame.q[3 * i + 2]]),
      [frame.v[3 * i + 1], frame.v[3 * i + 2]],
      reference,
      unit,
      theme.velocity,
      theme,
      "solid",
    );
  });
}

export function drawCentres(ctx, view, frame, theme) {
  const radius = 4.2;
  frame.scene.bodies.forEach((body, i) => {
    if (body.type === "static" || !finitePose(frame.q, i)) return;
    const [x, y] = view.toScreen([frame.q[3 * i + 1], frame.q[3 * i + 2]]);
    dot(ctx, [x, y], radius, theme.joint, theme.ink, 1.1);
    ctx.fillStyle = theme.ink;
    for (const turn of [0, Math.PI]) {
      // the quartered disc of technical drawings
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.arc(x, y, radius, turn, turn + Math.PI / 2);
      ctx.fill();
    }
  });
}

export function drawNames(ctx, view, frame, theme) {
  ctx.font = "500 12px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  const taken = []; // a name that would overlap another one is omitted
  frame.scene.bodies.forEach((body, i) => {
    if (body.name === "" || !finitePose(frame.q, i)) return;
    let [x, y] = view.toScreen([frame.q[3 * i + 1], frame.q[3 * i + 2]]);
    const half = 0.5 * ctx.measureText(body.name).width + 3;
    if (body.type === "static") {
      // the middle of a landscape is rarely in sight
      x = Math.min(Math.max(x, half + 6), view.width - half - 6);
      y = Math.min(Math.max(y, 16), view.height - 16);
    }
    if (x < -half || y < -9 || x > view.width + half || y > view.height + 9) return;
    if (taken.some((t) => Math.abs(t.x - x) < t.half + half && Math.abs(t.y - y) < 14)) return;
    taken.push({ x, y, half });
    ctx.lineWidth = 3.4;
    ctx.strokeStyle = theme.halo;
    ctx.strokeText(body.name, x, y);
    ctx.fillStyle = theme.ink;
    ctx.fillText(body.name, x, y);
  });
}

// ---- Joints -----------------------------------------------------------------------------------

function drawSpring(ctx, from, to, width, theme, ink) {
  const TURNS = 8,
    dx = to[0] - from[0],
    dy = to[1] - from[1],
    length = Math.hypot(dx, dy);
  if (!(length > 0)) return;
  ctx.strokeStyle = ink;
  ctx.lineWidth = 1.3;
  ctx.beginPath();
  ctx.moveTo(from[0], from[1]);
  for (let i = 1; i < TURNS; i++) {
    const part = (i - 0.5) / (TURNS - 1),
      side = (i % 2 === 0 ? -width : width) / length;
    ctx.lineTo(from[0] + part * dx - side * dy, from[1] + part * dy + side * dx);
  }
  ctx.lineTo(to[0], to[1]);
  ctx.stroke();
}

const ENDS = new Set(["distance", "spring", "rope", "mouse", "pulley"]);
// their joints have their own anchors
const UNDRAWN = new Set(["gear", "constraint", "ground_friction"]);

// From anchor to anchor, over the points at which the line turns.
function drawWay(ctx, way, from, to, radius, theme, ink) {
  [...way, to].reduce((last, next) => {
    line(ctx, last, next, ink, 1.3);
    return next;
  }, from);
  for (const point of way) dot(ctx, point, radius, theme.joint, ink, 1.3);
}

function drawSpan(ctx, joint, way, from, to, radius, theme, ink) {
  const gap = Math.hypot(to[0] - from[0], to[1] - from[1]);
  if (joint.type === "spring" || joint.type === "wheel") {
    drawSpring(ctx, from, to, radius, theme, ink);
  } else if (joint.type === "distance" || joint.type === "rope" || joint.type === "pulley") {
    drawWay(ctx, way, from, to, radius, theme, ink);
  } else if (joint.type === "slider" || joint.type === "mouse" || joint.type === "gear") {
    line(ctx, from, to, theme.faint, 1);
  } else if ((joint.type === "hinge" || joint.type === "weld") && gap > 1) {
    line(ctx, from, to, joint.compliant ? theme.faint : theme.error, 1.3);
    if (!joint.compliant) dot(ctx, to, 0.5 * radius, theme.error);
  }
}

function drawAnchor(ctx, joint, scene, from, to, radius, theme, ink) {
  if (UNDRAWN.has(joint.type)) return;
  if (ENDS.has(joint.type)) {
    dot(ctx, from, 0.5 * radius, ink);
    dot(ctx, to, 0.5 * radius, ink);
    return;
  }
  const fixed = [joint.a, joint.b].some((b) => b < 0 || scene.bodies[b].type !== "dynamic");
  const [fill, stroke] = fixed ? [ink, theme.joint] : [theme.joint, ink];
  dot(ctx, from, radius, fill, stroke, 1.3);
  if (joint.type === "weld" || joint.type === "slider") dot(ctx, from, 0.4 * radius, stroke);
}

export function drawJoints(ctx, view, frame, theme) {
  const { scene } = frame,
    prepared = preparedScene(scene, theme);
  const radius = Math.min(Math.max(0.12 * prepared.size * view.scale, 1.8), 4);
  const anchors = frame.joints.map(({ anchorA, anchorB }) => [
    view.toScreen(anchorA),
    view.toScreen(anchorB),
  ]);
  const shown = (j) => finite(anchors[j][0]) && finite(anchors[j][1]);
  scene.joints.forEach((joint, j) => {
    if (joint.type === "gear" || joint.type === "constraint" || !shown(j)) return;
    [joint.a, joint.b].forEach((b, side) => {
      if (b < 0 || scene.bodies[b].type === "static" || !finitePose(frame.q, b)) return;
      const centre = view.toScreen([frame.q[3 * b + 1], frame.q[3 * b + 2]]),
        at = anchors[j][side];
      const distance = Math.hypot(at[0] - centre[0], at[1] - centre[1]);
      if (distance > prepared.bodies[b].reach * view.scale) line(ctx, centre, at, theme.ink, 1.3);
    });
  });
  scene.joints.forEach((joint, j) => {
    if (!shown(j)) return;
    const ink = joint.enabled ? theme.ink : theme.faint;
    const way = joint.way.map((point) => view.toScreen(point));
    drawSpan(ctx, joint, way, anchors[j][0], anchors[j][1], radius, theme, ink);
    drawAnchor(ctx, joint, scene, anchors[j][0], anchors[j][1], radius, theme, ink);
  });
}

// ---- Trails -----------------------------------------------------------------------------------

const LONGEST_TRAIL = 3000; // points; more would make drawing too slow

// The number of the ascending `values` that are not above `limit`.
function countUpTo(values, limit) {
  let lo = 0;
  let hi = values.length;
  while (lo < hi) {
    const middle = (lo + hi) >> 1;
    if (values[middle] <= limit) lo = middle + 1;
    else hi = middle;
  }
  return lo;
}

// Paths of the bodies' centres up to now; `trails`: serial -> { clock, x, y } of numbers.
export function drawTrails(ctx, view, frame, theme, trails, from, until) {
  const prepared = preparedScene(frame.scene, theme);
  ctx.lineWidth = 1.4;
  ctx.lineJoin = "round";
  for (const { body, paint, index } of prepared.bodies) {
    const trail = body.type === "static" ? undefined : trails.get(body.serial);
    if (trail === undefined) continue;
    const end = countUpTo(trail.clock, until);
    let drawn = false;
    ctx.strokeStyle = paint.trail;
    ctx.beginPath();
    for (let k = Math.max(end - LONGEST_TRAIL, 0); k < end; k++) {
      if (trail.clock[k] < from) continue;
      const [px, py] = view.toScreen([trail.x[k], trail.y[k]]);
      const ok = Math.abs(px) < 1e5 && Math.abs(py) < 1e5; // false for NaN
      if (ok && drawn) ctx.lineTo(px, py);
      else if (ok) ctx.moveTo(px, py);
      drawn = ok;
    }
    if (drawn && finitePose(frame.q, index)) {
      ctx.lineTo(...view.toScreen([frame.q[3 * index + 1], frame.q[3 * index + 2]]));
    }
    ctx.stroke();
  }
}

// ---- The ground to see motion against ---------------------------------------------------------

// The largest of 1, 2, 5 times a power of ten that is not above `limit`.
export function roundLength(limit) {
  const power = 10 ** Math.floor(Math.log10(limit));
  return limit >= 5 * power ? 5 * power : limit >= 2 * power ? 2 * power : power;
}

export function lengthText(length) {
  const units = [
    [1e3, "km"],
    [1, "m"],
    [1e-2, "cm"],
    [1e-3, "mm"],
    [1e-6, "µm"],
    [1e-9, "nm"],
  ];
  const [unit, name] = units.find(([size]) => length >= 0.999 * size) ?? units[units.length - 1];
  return `${Number((length / unit).toPrecision(6))} ${name}`;
}

export function drawGrid(ctx, view, theme) {
  const step = roundLength(160 / view.scale);
  const [x0, y1] = view.toWorld([0, 0]),
    [x1, y0] = view.toWorld([view.width, view.height]);
  if (!((x1 - x0) / step < 200) || !(Math.abs(x0) / step < 1e12)) return;
  ctx.lineWidth = 1;
  for (const axis of [false, true]) {
    ctx.strokeStyle = axis ? theme.axis : theme.grid;
    ctx.beginPath();
    for (let k = Math.ceil(x0 / step); k * step <= x1; k++) {
      if ((k === 0) !== axis) continue;
      const x = Math.round(view.toScreen([k * step, 0])[0]) + 0.5;
      ctx.moveTo(x, 0);
      ctx.lineTo(x, view.height);
    }
    for (let k = Math.ceil(y0 / step); k * step <= y1; k++) {
      if ((k === 0) !== axis) continue;
      const y = Math.round(view.toScreen([0, k * step])[1]) + 0.5;
      ctx.moveTo(0, y);
      ctx.lineTo(view.width, y);
    }
    ctx.stroke();
  }
}

export function drawScale(ctx, view, theme) {
  const length = roundLength(Math.min(0.2 * view.width, 150) / view.scale),
    pixels = length * view.scale;
  const x = 18,
    y = view.height - 16;
  // drawn twice: a pale line below keeps it readable on dark bodies
  for (const [color, width] of [
    [theme.halo, 4],
    [theme.ink, 1.4],
  ]) {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x, y - 4);
    ctx.lineTo(x, y);
    ctx.lineTo(x + pixels, y);
    ctx.lineTo(x + pixels, y - 4);
    ctx.stroke();
  }
  ctx.font = "12px system-ui, sans-serif";
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  ctx.lineJoin = "round";
  ctx.lineWidth = 3.4;
  ctx.strokeStyle = theme.halo;
  ctx.strokeText(lengthText(length), x + pixels / 2, y - 6);
  ctx.fillStyle = theme.ink;
  ctx.fillText(lengthText(length), x + pixels / 2, y - 6);
}

// Rows of [colour, kind of arrow, text] in the lower right corner.
export function drawKey(ctx, view, theme, rows, length) {
  if (rows.length === 0) return;
  const LINE = 20,
    PAD = 10,
    right = view.width - 12,
    bottom = view.height - 12;
  ctx.font = "12px system-ui, sans-serif";
  const text = Math.max(...rows.map((row) => ctx.measureText(row[2]).width));
  const width = text + length + 3 * PAD,
    height = rows.length * LINE + PAD;
  ctx.fillStyle = theme.halo;
  ctx.beginPath();
  ctx.roundRect(right - width, bottom - height, width, height, 8);
  ctx.fill();
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  rows.forEach(([color, kind, label], k) => {
    const y = bottom - height + PAD / 2 + LINE * (k + 0.5);
    drawArrow(ctx, [right - width + PAD, y], [length, 0], color, theme.halo, kind);
    ctx.fillStyle = theme.ink;
    ctx.fillText(label, right - PAD - text, y);
  });
}
