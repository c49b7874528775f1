// Gestures on the picture: pan, zoom, pinch, select; other modules may take over through `hooks`.
import { pick, pickBody } from "./pick.js";

const CLICK = 5; // pixels by which a pointer may move in a click

export function attachCamera(canvas, view, { frame, overlays, hooks, onView, onSelect, onFollow }) {
  const pointers = new Map(); // id -> [x, y]
  let start = null,
    travelled = 0,
    taken = false;
  const place = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const spread = () => {
    const [a, b] = pointers.values();
    return {
      middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2],
      distance: Math.hypot(a[0] - b[0], a[1] - b[1]),
    };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    const at = place(event);
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at);
    if (pointers.size > 1) {
      travelled = Infinity; // no click
      if (taken) hooks.pointer?.up(view.toWorld(at));
      taken = false;
      return;
    }
    start = at;
    travelled = 0;
    const hit = frame()
      ? pickBody(view, frame(), at, event.pointerType === "touch" ? 16 : 8)
      : null;
    taken = hooks.pointer?.down(view.toWorld(at), hit, event) === true;
  });

  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = pointers.get(event.pointerId),
      at = place(event);
    const apart = pointers.size === 2 ? spread() : null;
    pointers.set(event.pointerId, at);
    if (start) travelled = Math.max(travelled, Math.hypot(at[0] - start[0], at[1] - start[1]));
    if (taken) {
      hooks.pointer?.move(view.toWorld(at), event);
    } else if (apart) {
      const now = spread();
      view.panBy(now.middle[0] - apart.middle[0], now.middle[1] - apart.middle[1]);
      if (apart.distance > 10) view.zoomAt(now.middle, now.distance / apart.distance);
      onView();
    } else if (travelled > CLICK) {
      view.panBy(at[0] - before[0], at[1] - before[1]);
      onView();
    }
  });

  const end = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    const at = place(event);
    if (taken) hooks.pointer?.up(view.toWorld(at), event);
    const clicked = event.type === "pointerup" && travelled <= CLICK && start !== null;
    if (pointers.size === 0) {
      taken = false;
      start = null;
    }
    if (clicked && frame()) {
      onSelect(pick(view, frame(), at, overlays, event.pointerType === "touch" ? 18 : 9));
    }
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("dblclick", (event) => {
    const hit = frame() && pickBody(view, frame(), place(event), 8);
    if (hit) onFollow(hit);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 18 : 1;
      view.zoomAt(place(event), Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)));
      onView();
    },
    { passive: false },
  );
}
