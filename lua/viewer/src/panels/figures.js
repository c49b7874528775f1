// Plots of the script. They are shown as images, which run no scripts and load nothing, for any
// content of their SVG.
import { h, iconButton } from "../dom.js";

const sourceOf = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

export function createFigures() {
  const section = h("section", { class: "figures", hidden: true });
  const list = h("div", { class: "figure-list" });
  section.append(h("h2", {}, "Plots of the script"), list);
  const large = h("img", { alt: "" }),
    title = h("h2");
  const dialog = h("dialog", { class: "figure-dialog" });
  const close = () => dialog.close();
  dialog.append(
    h("div", { class: "help-head" }, title, iconButton("close", "Close", close)),
    large,
  );
  dialog.addEventListener("click", (event) => event.target === dialog && close());

  function open(name, source) {
    title.textContent = large.alt = name;
    dialog.setAttribute("aria-label", name);
    large.src = source;
    dialog.showModal();
  }

  function figureOf([name, svg]) {
    const source = sourceOf(svg);
    return h(
      "button",
      {
        type: "button",
        class: "figure",
        title: "Enlarge",
        "aria-label": `Enlarge: ${name}`,
        onclick: () => open(name, source),
      },
      h("img", { src: source, alt: name, loading: "lazy" }),
    );
  }

  let shown = new Map();
  return {
    element: section,
    dialog,
    // Pairs of a name and its SVG.
    update(plots) {
      const figures = new Map();
      for (const [name, svg] of plots) {
        const before = shown.get(name);
        const same = before?.svg === svg;
        figures.set(name, { svg, element: same ? before.element : figureOf([name, svg]) });
      }
      shown = figures;
      section.hidden = shown.size === 0;
      list.replaceChildren(...[...shown.values()].map(({ element }) => element));
    },
  };
}
