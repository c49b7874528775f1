// Information on the recording: the run, and the settings of its world.
import { h, number, pair } from "../dom.js";

const SHOWN = new Set(["sim2d", "build", "seed", "every"]); // entries of the run

function rowsOf(recording) {
  const { run } = recording;
  const rows = run.words.length > 0 ? [["command", run.words.join(" ")]] : [];
  for (const [key, value] of run.entries) {
    if (SHOWN.has(key)) rows.push([key, value]);
  }
  const settings = recording.scenes[0]?.settings;
  if (settings)
    rows.push(
      ["time step", `${number(settings.dt)} s`],
      ["gravity", pair(settings.gravity, "m/s²")],
    );
  return rows;
}

export function createAbout() {
  const element = h("dl", { class: "numbers" });
  return {
    element,
    update(recording) {
      element.replaceChildren(
        ...rowsOf(recording).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
      );
    },
  };
}
