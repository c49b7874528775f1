// The list of keys.
import { h, iconButton } from "../dom.js";

const KEYS = [
  ["Space", "play, pause"],
  ["← →", "a frame back, on"],
  ["Shift ← →", "ten frames"],
  ["Home End", "first, last frame"],
  ["[ ]", "slower, faster"],
  ["+ −", "zoom; also wheel, pinch"],
  ["drag", "move the view"],
  ["click", "select a body, contact or joint"],
  ["f", "follow what is selected; else fit all"],
  ["0", "fit all"],
  ["1 … 8", "show contact points … trails"],
  ["d", "dark, light"],
  ["p", "panel"],
  ["Esc", "deselect"],
  ["?", "this list"],
];

export function createHelp() {
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" });
  const toggle = () => (dialog.open ? dialog.close() : dialog.showModal());
  dialog.append(
    h("div", { class: "help-head" }, h("h2", {}, "Keys"), iconButton("close", "Close", toggle)),
    h(
      "dl",
      {},
      ...KEYS.flatMap(([keys, what]) => [
        h("dt", {}, ...keys.split(" ").map((key) => (key === "…" ? " … " : h("kbd", {}, key)))),
        h("dd", {}, what),
      ]),
    ),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return {
    element: dialog,
    toggle,
    get open() {
      return dialog.open;
    },
  };
}
