// Texts and drawings of the script over the picture (world:annotate), drawn as
// core/record/draw/annotations.c does.
import { drawArrow } from "./marks.js";

const HALO = 3; // px, behind letters

const css = (color) => `rgba(${color >>> 24}, ${(color >>> 16) & 255}, ${(color >>> 8) & 255}, ${(color & 255) / 255})`;

function drawWords(ctx, [x, y], { type, text, letters, size }, color, theme) {
  const alone = type === "text";
  ctx.font = `${letters}px system-ui, sans-serif`;
  ctx.textAlign = alone ? "center" : "left";
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  ctx.lineWidth = HALO;
  ctx.strokeStyle = theme.halo;
  ctx.fillStyle = color;
  const left = alone ? x : x + size + 0.5 * letters;
  ctx.strokeText(text, left, y);
  ctx.fillText(text, left, y);
}

export function drawAnnotations(ctx, view, frame, theme) {
  for (const of of frame.annotations) {
    const from = view.toScreen(of.from), to = view.toScreen(of.to);
    const color = of.color === 0 ? theme.ink : css(of.color);
    if (of.type === "line") {
      ctx.strokeStyle = color;
      ctx.lineWidth = of.size;
      ctx.beginPath();
      ctx.moveTo(from[0], from[1]);
      ctx.lineTo(to[0], to[1]);
      ctx.stroke();
    } else if (of.type === "arrow") {
      drawArrow(ctx, from, [to[0] - from[0], to[1] - from[1]], color, theme.halo, "solid", of.size);
    } else if (of.type === "point") {
      ctx.fillStyle = color;
      ctx.beginPath();
      ctx.arc(to[0], to[1], of.size, 0, 2 * Math.PI);
      ctx.fill();
    }
    if (of.text !== "") drawWords(ctx, to, of, color, theme);
  }
}
