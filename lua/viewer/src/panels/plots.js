// Plots over time (uPlot): energy, momentum, residual, channels. The present is a line across all
// of them; a click or a drag moves it.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h, number, superscript } from "../dom.js";

const HEIGHT = 128; // pixels
const FONT = "11px system-ui, sans-serif";
const DASHES = [[], [6, 4], [2, 3], [9, 3, 2, 3]]; // lines differ without colour

const plain = (values) => values.map((value) => (Number.isFinite(value) ? value : null));
const positive = (values) => values.map((value) => (value > 0 && value < Infinity ? value : null));

// Range of an axis: a line that is constant except for rounding has to look constant.
function linearRange(_, lo, hi) {
  if (lo === null || hi === null) return [0, 1];
  const least = 1e-3 * Math.max(Math.abs(lo), Math.abs(hi)) || 2;
  const room = Math.max(0.08 * (hi - lo), hi - lo < least ? 0.5 * least : 0);
  return [lo - room, hi + room];
}

function logRange(_, lo, hi) {
  if (!(lo > 0) || !(hi > 0)) return [1e-16, 1];
  const low = Math.floor(Math.log10(lo) + 1e-9),
    high = Math.ceil(Math.log10(hi) - 1e-9);
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

// As many digits as the distance of the ticks requires; one power of ten for all of them.
function tickTexts(_, ticks) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
  const largest = Math.max(...ticks.map(Math.abs), step);
  const shift = largest >= 1e5 || largest < 1e-3 ? Math.floor(Math.log10(largest)) : 0;
  const whole = (d) =>
    Math.abs(step * 10 ** (d - shift) - Math.round(step * 10 ** (d - shift))) < 1e-6;
  let decimals = Math.max(0, Math.ceil(shift - Math.log10(step) - 1e-6));
  while (decimals < 12 && !whole(decimals)) decimals++;
  return ticks.map((tick) => {
    const text = (tick / 10 ** shift)
      .toFixed(decimals)
      .replace(/^-(?=0(\.0*)?$)/, "")
      .replace("-", "−");
    return shift === 0 || tick === 0 ? text : `${text}·10${superscript(shift)}`;
  });
}

// About five powers of ten.
function powerTicks(_, axis, lo, hi) {
  const low = Math.round(Math.log10(lo));
  const high = Math.round(Math.log10(hi));
  const step = Math.max(1, Math.ceil((high - low) / 5));
  const ticks = [];
  for (let k = low; k <= high; k += step) ticks.push(10 ** k);
  return ticks;
}

const powerTexts = (_, ticks) =>
  ticks.map((tick) => (tick === null ? "" : `10${superscript(Math.round(Math.log10(tick)))}`));

// One plot: title with unit, a key with present values, the lines.
class Plot {
  constructor(owner, title, unit, lines, log) {
    Object.assign(this, { owner, lines, log });
    this.values = lines.map(() => h("output", { class: "value" }));
    // names of lines and their values at the present
    const key = h(
      "div",
      { class: "plot-key" },
      ...lines.map((line, k) =>
        h(
          "div",
          { class: "key-entry" },
          h("span", { class: "key-name" }, this.#sample(k), line.name),
          this.values[k],
        ),
      ),
    );
    this.holder = h("div", { class: "plot-area" });
    this.now = h("div", { class: "plot-now" });
    const head = h(
      "div",
      { class: "plot-head" },
      h("h3", {}, title),
      h("span", { class: "unit" }, unit === "" || log ? unit : `in ${unit}`),
    );
    this.element = h(
      "section",
      { class: "plot", "aria-label": `Plot of ${title}` },
      head,
      key,
      this.holder,
    );
    this.chart = null;
  }

  #color(k) {
    const { theme } = this.owner,
      { color } = this.lines[k];
    return color === "ink" ? theme.ink : theme.lines[color % theme.lines.length];
  }

  #sample(k) {
    const canvas = h("canvas", {
      width: 40,
      height: 12,
      class: "key-sample",
      "aria-hidden": "true",
    });
    this.samples ??= [];
    this.samples[k] = canvas;
    return canvas;
  }

  paint() {
    this.samples.forEach((canvas, k) => {
      const ctx = canvas.getContext("2d");
      ctx.clearRect(0, 0, 40, 12);
      ctx.strokeStyle = this.#color(k);
      ctx.lineWidth = this.#width(k) * 2;
      ctx.setLineDash((this.lines[k].dash ?? []).map((d) => 2 * d));
      ctx.beginPath();
      ctx.moveTo(0, 6);
      ctx.lineTo(40, 6);
      ctx.stroke();
    });
  }

  #width(k) {
    return this.lines[k].width ?? 1.4;
  }

  #build(width, data) {
    const axis = {
      stroke: () => this.owner.theme.ink,
      font: FONT,
      grid: { stroke: () => this.owner.theme.grid, width: 1 },
      ticks: { stroke: () => this.owner.theme.axis, width: 1, size: 4 },
    };
    // charts share a cursor; axes have room for the texts of this page
    this.chart = new uPlot(
      {
        width,
        height: HEIGHT,
        padding: [8, 14, 0, 0],
        pxAlign: false,
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: false, y: false },
          points: { show: false },
          sync: { key: "sim2d" },
        },
        scales: {
          x: { time: false },
          y: this.log ? { distr: 3, range: logRange } : { range: linearRange },
        },
        axes: [
          { ...axis, size: 26, gap: 3, space: 60, values: tickTexts },
          {
            ...axis,
            size: 54,
            gap: 4,
            space: 28,
            ...(this.log
              ? { splits: powerTicks, filter: (_, ticks) => ticks, values: powerTexts }
              : { values: tickTexts }),
          },
        ],
        series: [
          {},
          ...this.lines.map((line, k) => ({
            stroke: () => this.#color(k),
            width: this.#width(k),
            dash: line.dash ?? [],
            points: { show: data[0].length < 3 },
            spanGaps: false,
          })),
        ],
      },
      data,
      this.holder,
    );
    // the line of the present lies over the chart; a drag there moves through time
    const { over } = this.chart;
    over.append(this.now);
    const seek = (event) => {
      const { left } = over.getBoundingClientRect();
      this.owner.onSeek(this.chart.posToVal(event.clientX - left, "x"));
    };
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      seek(event);
    });
    over.addEventListener("pointermove", (event) => event.buttons & 1 && seek(event));
  }

  update(series) {
    const width = this.holder.clientWidth;
    if (width < 50) return; // not shown
    const data = [
      series.time,
      ...this.lines.map((line) => (this.log ? positive : plain)(line.of(series))),
    ];
    if (this.chart === null) this.#build(width, data);
    else {
      if (this.chart.width !== width) this.chart.setSize({ width, height: HEIGHT });
      this.chart.setData(data);
    }
    this.paint();
  }

  present(clock, at, series) {
    this.lines.forEach((line, k) => {
      const value = at < 0 ? undefined : line.of(series)[at];
      const text = value === undefined || Number.isNaN(value) ? "–" : number(value);
      if (this.values[k].textContent !== text) this.values[k].textContent = text;
    });
    if (this.chart === null) return;
    const x = this.chart.valToPos(clock, "x");
    this.now.style.transform = `translateX(${Number.isFinite(x) ? x : -9}px)`;
  }

  destroy() {
    this.chart?.destroy();
    this.element.remove();
  }
}

const column = (name) => (series) => series.columns[name];

export function createPlots({ onSeek, theme }) {
  const list = h("div", { class: "plots" });
  const chooser = h("div", { class: "chips", role: "group", "aria-label": "Channels shown" });
  const element = h("div", {}, chooser, list);
  const owner = { onSeek, theme };
  const chosen = new Map(); // channel -> shown
  let plots = [],
    made = "";

  function choose(channels) {
    channels.forEach((_, c) => chosen.has(c) || chosen.set(c, c < 6));
    chooser.hidden = channels.length < 2;
    chooser.replaceChildren(
      ...channels.map(({ name }, c) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-pressed": String(chosen.get(c)),
            onclick: () => {
              chosen.set(c, !chosen.get(c));
              made = "";
              api.update(last.series, last.channels);
            },
          },
          name,
        ),
      ),
    );
  }

  // Channels of one unit share a plot.
  function make(series, channels) {
    const wanted = [
      [
        "Energy",
        "J",
        [
          { name: "kinetic", of: column("kinetic"), color: 0 },
          { name: "potential", of: column("potential"), color: 1, dash: DASHES[1] },
          { name: "total", of: column("total"), color: "ink", width: 2 },
        ],
      ],
      [
        "Momentum",
        "N s",
        [
          { name: "x", of: column("px"), color: 0 },
          { name: "y", of: column("py"), color: 1, dash: DASHES[1] },
        ],
      ],
      [
        "Angular momentum",
        "N m s",
        [{ name: "about the origin", of: column("angular"), color: 4 }],
      ],
    ];
    // where the run has one
    if (series.hasResidual) {
      wanted.push([
        "Residual",
        "scaled",
        [{ name: "largest of the step", of: column("residual"), color: 3 }],
        true,
      ]);
    }
    // channels of one unit share a plot
    const units = new Map();
    channels.forEach(({ name, unit }, c) => {
      if (!chosen.get(c)) return;
      if (!units.has(unit ?? "")) units.set(unit ?? "", []);
      const lines = units.get(unit ?? "");
      lines.push({
        name,
        of: (s) => s.columns.channels[c] ?? [],
        color: lines.length,
        dash: DASHES[lines.length % DASHES.length],
      });
    });
    const own = [...units].map(([unit, lines]) => [
      lines.length === 1 ? lines[0].name : "Channels",
      unit,
      lines,
    ]);
    plots.forEach((plot) => plot.destroy());
    plots = [...own, ...wanted].map((arguments_) => new Plot(owner, ...arguments_));
    list.replaceChildren(...plots.map((plot) => plot.element));
  }

  let last = null;
  const api = {
    element,
    update(series, channels) {
      last = { series, channels };
      const needed = JSON.stringify([channels, [...chosen], series.hasResidual]);
      if (needed !== made) {
        choose(channels);
        make(series, channels);
        made = JSON.stringify([channels, [...chosen], series.hasResidual]);
      }
      plots.forEach((plot) => plot.update(series));
    },
    present(clock) {
      if (last === null) return;
      const { time } = last.series;
      let lo = 0,
        hi = time.length - 1;
      while (lo < hi) {
        const middle = (lo + hi + 1) >> 1;
        if (time[middle] <= clock) lo = middle;
        else hi = middle - 1;
      }
      plots.forEach((plot) => plot.present(clock, hi < 0 ? -1 : lo, last.series));
    },
    setTheme(to) {
      owner.theme = to;
      plots.forEach((plot) => {
        plot.paint();
        plot.chart?.redraw();
      });
    },
    reset() {
      made = "";
      chosen.clear();
    },
  };
  return api;
}
