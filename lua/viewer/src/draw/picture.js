// The whole picture of a frame: bodies, and on top of them the overlays that the reader has chosen.
import { drawAnnotations } from "./annotations.js";
import { drawAway } from "./away.js";
import { drawBodies, drawHalo, preparedScene } from "./bodies.js";
import { quantity } from "../dom.js";
import * as marks from "./marks.js";
import { find } from "./pick.js";

const LONGEST_KEY = 60; // pixels of an arrow in the key
const TRAIL_BODIES = 60; // with more, trails are limited to:
const SHORT_TRAIL = 1.5; // s

// The key: the meaning of arrows, and the value of an arrow of a given length.
function drawKey(ctx, { view, theme, frame, overlays, series }) {
  const { impulse, speed } = series.references;
  const unit = marks.arrowUnit(preparedScene(frame.scene), view);
  const length = Math.min(unit, LONGEST_KEY);
  const value = (reference, name) => quantity((reference * length) / unit, name);
  const rows = [];
  if (overlays.normals && impulse > 0) {
    rows.push([theme.normal, "solid", `normal impulse, ${value(impulse, "N s")}`]);
  }
  if (overlays.friction && impulse > 0) {
    const amount = overlays.normals ? "" : `, ${value(impulse, "N s")}`;
    rows.push([theme.sticking, "solid", `friction, sticking${amount}`]);
    rows.push([theme.sliding, "open", "friction, sliding"]);
  }
  if (overlays.velocities && speed > 0) {
    rows.push([theme.velocity, "solid", `velocity, ${value(speed, "m/s")}`]);
  }
  marks.drawKey(ctx, view, theme, rows, length);
}

function drawMarks(ctx, { view, theme, frame, overlays, series }) {
  const { impulse, speed } = series.references;
  if (overlays.joints) marks.drawJoints(ctx, view, frame, theme);
  if (overlays.contacts) marks.drawContactPoints(ctx, view, frame, theme);
  if ((overlays.normals || overlays.friction) && impulse > 0) {
    marks.drawImpulses(ctx, view, frame, theme, overlays, impulse);
  }
  if (overlays.centres) marks.drawCentres(ctx, view, frame, theme);
  if (overlays.velocities && speed > 0) marks.drawVelocities(ctx, view, frame, theme, speed);
  if (overlays.names) marks.drawNames(ctx, view, frame, theme);
}

function drawSelection(ctx, ratio, { view, theme, frame, selection }) {
  const i = selection ? find(frame, selection) : -1;
  if (i < 0) return;
  if (selection.kind === "body") {
    drawHalo(ctx, view, frame, i, theme, ratio);
    return;
  }
  const place = selection.kind === "contact" ? frame.contacts[i].point : frame.joints[i].anchorA;
  const [x, y] = view.toScreen(place);
  const ring = (color, width) => {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(x, y, 8, 0, 2 * Math.PI);
    ctx.stroke();
  };
  ring(theme.halo, 5.5);
  ring(theme.accent, 2.6);
}

// `state`: view, theme, frame (or null), overlays, series, selection, now, hooks. Returns the
// number of bodies that could not be drawn (`lost`) and those that are out of sight (`away`).
export function drawPicture(ctx, ratio, state) {
  const { view, theme, frame, overlays, series, now } = state;
  let lost = 0, away = [];
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = theme.background;
  ctx.fillRect(0, 0, view.width, view.height);
  marks.drawGrid(ctx, view, theme);
  if (frame) {
    if (overlays.trails) {
      const from = frame.scene.bodies.length > TRAIL_BODIES ? now - SHORT_TRAIL : -Infinity;
      marks.drawTrails(ctx, view, frame, theme, series.trails, from, now);
    }
    ctx.lineJoin = "round";
    ctx.lineCap = "butt";
    lost = drawBodies(ctx, view, frame, theme, ratio);
    drawMarks(ctx, state);
    drawAnnotations(ctx, view, frame, theme);
    drawSelection(ctx, ratio, state);
    for (const hook of state.hooks) hook(ctx, view, frame);
    drawKey(ctx, state);
    away = drawAway(ctx, view, frame, theme);
  }
  marks.drawScale(ctx, view, theme);
  return { lost, away };
}
