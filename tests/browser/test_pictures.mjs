// The two writers of pictures agree: a .svg, drawn by the browser, looks like the .png of cairo.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, run, sim2d, test, work } from "./harness.mjs";

const browser = await launch();
const page = await (await browser.newContext()).newPage();
await page.goto("about:blank");
const file = (name) => join(work, name);

const SCENE = `
local world = sim.world {}
world:box { type = "static", position = { 0, -0.5 }, size = { 8, 1 } }
world:box { name = "box", position = { -1, 0.5 }, size = { 1, 1 } }
world:polygon { name = "wedge", position = { 1, 0.4 }, vertices = { { -0.5, -0.4 }, { 0.7, -0.4 }, { 0.2, 0.6 } } }
local bob = world:circle { name = "bob", position = { 2.5, 1.5 }, radius = 0.3, color = "#c04040a0" }
world:hinge { bob, anchor = { 2, 2.5 } }
world:capsule { position = { -2.5, 0.3 }, length = 1, radius = 0.3 }
world:step(40)
`;
const PICTURES = {
  world: `${SCENE} draw = function(path) return world:draw(path, { width = 800, title = "A few bodies", names = true }) end`,
  dark: `${SCENE} draw = function(path) return world:draw(path, { width = 800, dark = true }) end`,
  plot: `local plot = sim.plot { title = "Growth & decay", x = "time, s", y = { label = "size", log = true },
    { function(t) return math.exp(t) end, 0, 5, label = "grows" },
    { function(t) return math.exp(-t) end, 0, 5, label = "decays", dash = true },
    { { 1, 2, 3, 4 }, { 1, 3, 2, 5 }, kind = "scatter", marker = "cross", error = 0.5, label = "seen" } }
    draw = function(path) return plot:save(path, path:match "png$" and { scale = 1 } or nil) end`,
  grid: `local panels = {}
    panels[1] = { title = "Histogram", { sim.array { 1, 2, 2, 3, 3, 3, 4, 4, 5 }, kind = "histogram", bins = 5 } }
    panels[2] = { title = "Field", x = { range = { -1, 1 } }, y = { range = { -1, 1 } },
      { function(x, y) return -y, x end, kind = "field" } }
    local plot = sim.plot.grid(panels)
    draw = function(path) return plot:save(path, path:match "png$" and { scale = 1 } or nil) end`,
};

// What of a picture is there without cairo?
let missing = "";
for (const [name, text] of Object.entries(PICTURES)) {
  const path = file(`${name}_picture.lua`);
  writeFileSync(path, `local sim = require "sim2d" local draw ${text}
    assert(draw "${name}.svg")
    local done, message = draw "${name}_cairo.png"
    if not done then print(message) end`);
  missing ||= sim2d(path).trim();
}
if (missing) {
  console.log(`skipped: test_pictures.mjs: ${missing}`);
  await browser.close();
  process.exit(77);
}

// Both pictures as light values, averages of 4 x 4 pixels: letters are drawn by other hands.
const small = (svg, png) =>
  page.evaluate(
    async ([svgText, pngText]) => {
      const read = async (source, size) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const [width, height] = size ?? [image.naturalWidth, image.naturalHeight];
        const canvas = Object.assign(document.createElement("canvas"), { width, height });
        const ctx = canvas.getContext("2d", { willReadFrequently: true });
        ctx.drawImage(image, 0, 0, width, height);
        const { data } = ctx.getImageData(0, 0, width, height);
        const w = width >> 2, h = height >> 2, channels = [0, 1, 2].map(() => new Array(w * h).fill(0));
        for (let y = 0; y < 4 * h; y++) {
          for (let x = 0; x < 4 * w; x++) {
            for (let c = 0; c < 3; c++) channels[c][(y >> 2) * w + (x >> 2)] += data[4 * (y * width + x) + c] / 16;
          }
        }
        return { width, height, w, h, channels };
      };
      const png = await read(pngText);
      return { png, svg: await read(svgText, [png.width, png.height]) };
    },
    [`data:image/svg+xml;base64,${svg.toString("base64")}`, `data:image/png;base64,${png.toString("base64")}`],
  );

// Mean structural similarity (Wang et al. 2004) over windows of 8 x 8, all channels; 1: the same.
function similarity(a, b) {
  const SIDE = 8, C1 = (0.01 * 255) ** 2, C2 = (0.03 * 255) ** 2;
  let sum = 0, count = 0;
  for (let c = 0; c < 3; c++) {
    for (let top = 0; top + SIDE <= a.h; top += 4) {
      for (let left = 0; left + SIDE <= a.w; left += 4) {
        let ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
        for (let y = top; y < top + SIDE; y++) {
          for (let x = left; x < left + SIDE; x++) {
            const p = a.channels[c][y * a.w + x], q = b.channels[c][y * b.w + x];
            ma += p, mb += q, aa += p * p, bb += q * q, ab += p * q;
          }
        }
        const n = SIDE * SIDE;
        ma /= n, mb /= n;
        const va = aa / n - ma * ma, vb = bb / n - mb * mb, cov = ab / n - ma * mb;
        sum += ((2 * ma * mb + C1) * (2 * cov + C2)) / ((ma * ma + mb * mb + C1) * (va + vb + C2));
        count++;
      }
    }
  }
  return sum / count;
}

const difference = (a, b) =>
  a.channels.flatMap((channel, c) => channel.map((p, i) => Math.abs(p - b.channels[c][i]))).reduce((s, d) => s + d) /
  (3 * a.w * a.h);

const bytes = (name) => readFileSync(file(name));

for (const name of Object.keys(PICTURES)) {
  test(`${name}: .svg and .png look the same`, async () => {
    const { svg, png } = await small(bytes(`${name}.svg`), bytes(`${name}_cairo.png`));
    const alike = similarity(svg, png), apart = difference(svg, png);
    console.log(`       ${name}: similarity ${alike.toFixed(4)}, mean difference ${apart.toFixed(2)} of 255`);
    assert.ok(alike > 0.97 && apart < 1, `similarity ${alike}, difference ${apart}`);
  });
}

test("the measure tells pictures apart", async () => {
  const svg = bytes("world.svg").toString();
  const without = svg.replace(/<polygon[^>]*>|<path[^>]*fill="#[^>]*>/, "");
  assert.notEqual(without, svg);
  const { svg: a, png } = await small(Buffer.from(without), bytes("world_cairo.png"));
  console.log(`       one shape less: similarity ${similarity(a, png).toFixed(4)}`);
  assert.ok(similarity(a, png) < 0.95);
  const shifted = svg.replace(/<svg([^>]*)viewBox="0 0/, '<svg$1viewBox="6 6');
  assert.notEqual(shifted, svg);
  const { svg: b, png: same } = await small(Buffer.from(shifted), bytes("world_cairo.png"));
  console.log(`       moved by 6 px: similarity ${similarity(b, same).toFixed(4)}`);
  assert.ok(similarity(b, same) < 0.9);
});

await run();
await browser.close();
