// The bar at the bottom: play, step, time, scrub, speed.
import { h, icon, iconButton } from "../dom.js";

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];

export function createTransport(player) {
  const play = iconButton("play", "Play", () => player.toggle(), { class: "icon-button play" });
  const back = iconButton("back", "One frame back", () => player.step(-1));
  const forward = iconButton("forward", "One frame on", () => player.step(1));
  const reset = iconButton("reset", "Start again", () => player.reset(), { hidden: true });
  const now = h("span", { class: "now" }),
    total = h("span", { class: "total" });
  const count = h("span", { class: "count" });
  // frames, not times: a step of the slider is a frame
  const scrubber = h("input", {
    type: "range",
    class: "scrubber",
    min: "0",
    max: "0",
    step: "1",
    value: "0",
    "aria-label": "Frame",
    oninput: () => player.seek(Number(scrubber.value)),
  });
  const speed = h(
    "select",
    {
      "aria-label": "Speed",
      title: "Speed",
      class: "speed",
      onchange: () => player.setSpeed(Number(speed.value)),
    },
    ...SPEEDS.map((value) =>
      h(
        "option",
        { value: String(value), ...(value === 1 ? { selected: true } : {}) },
        `${value}×`,
      ),
    ),
  );
  const element = h(
    "footer",
    { class: "transport" },
    h("div", { class: "buttons" }, reset, back, play, forward),
    h("div", { class: "readout" }, h("span", { class: "clock" }, now, total), count),
    scrubber,
    speed,
  );
  // the page changes only elements whose content differs
  let shownPlaying = null;
  return {
    element,
    play,
    reset,
    speed,
    // A speed that is not in the list is added to it.
    showSpeed(value) {
      if (![...speed.options].some((option) => Number(option.value) === value)) {
        const next = [...speed.options].find((option) => Number(option.value) > value) ?? null;
        speed.insertBefore(h("option", { value: String(value) }, `${value}×`), next);
      }
      speed.value = String(value);
    },
    update({ index, frameCount, time, end, playing, decimals }) {
      if (playing !== shownPlaying) {
        shownPlaying = playing;
        play.replaceChildren(icon(playing ? "pause" : "play"));
        play.setAttribute("aria-label", playing ? "Pause" : "Play");
        play.title = playing ? "Pause" : "Play";
      }
      const text = (value) =>
        Number.isFinite(value) ? value.toFixed(decimals).replace("-", "−") : "–";
      now.textContent = frameCount > 0 ? `${text(time)} s` : "– s";
      total.textContent = frameCount > 0 ? ` / ${text(end)} s` : "";
      count.textContent = frameCount > 0 ? `frame ${index + 1} / ${frameCount}` : "no frames";
      const last = Math.max(frameCount - 1, 0);
      if (scrubber.max !== String(last)) scrubber.max = String(last);
      if (scrubber.value !== String(index)) scrubber.value = String(index);
      scrubber.style.setProperty("--part", `${last > 0 ? (100 * index) / last : 0}%`);
      scrubber.setAttribute(
        "aria-valuetext",
        `${text(time)} seconds, frame ${index + 1} of ${frameCount}`,
      );
      for (const control of [play, back, forward, scrubber]) control.disabled = frameCount === 0;
    },
  };
}
