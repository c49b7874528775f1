// What was recorded: the run, and the settings of its world.
import { h, number, pair } from "./dom.js";

function rowsOf(recording) {
  const rows = [];
  for (const [name, value] of Object.entries(recording.run ?? {})) {
    const text = Array.isArray(value)
      ? value.join(" ")
      : typeof value === "number"
        ? number(value)
        : String(value ?? "");
    if (typeof value !== "object" || Array.isArray(value)) text !== "" && rows.push([name, text]);
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
