// How long the player takes for a frame of 1000 bodies: node bench/player.mjs, from the top folder with
// the program in build/, or with the environment of the browser tests. Everything is measured in one
// run; the bare canvas shows the speed of the machine.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open, sim2d, work } from "../tests/browser/harness.mjs";

writeFileSync(
  join(work, "thousand.lua"),
  `
local sim = require "sim2d"
local world = sim.world { gravity = { 0, 0 } }
for i = 0, 999 do
  local x, y = i % 40, i // 40
  local body = { position = { x, y }, velocity = { 1e-3 * (x - 20), 1e-3 * (y - 12) }, angular_velocity = 1 + 0.1 * (i % 7) }
  if i % 2 == 0 then body.radius = 0.4; world:circle(body)
  else body.size = { 0.6, 0.5 }; world:box(body) end
end
world:step(999)
`,
);
sim2d("--record", "thousand.html", "thousand.lua");
const browser = await launch();
const page = await open(browser, `file://${join(work, "thousand.html")}`);
await page.waitForFunction(() => window.sim2d?.ready, null, { timeout: 120000 });
const result = await page.evaluate(async () => {
  const canvas = document.querySelector("canvas.picture"),
    ctx = canvas.getContext("2d");
  const next = () => new Promise(requestAnimationFrame);
  const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  // Until the pixels are there: reading one waits for them.
  async function time(draw) {
    const calls = [],
      pixels = [];
    for (let i = 0; i < 60; i++) {
      const start = performance.now();
      draw(i);
      calls.push(performance.now() - start);
      ctx.getImageData(0, 0, 1, 1);
      pixels.push(performance.now() - start);
      await next();
    }
    return { calls: median(calls), pixels: median(pixels) };
  }
  const { recording } = sim2d.player;
  const decode = await time((i) => recording.frame(16 * i));
  sim2d.seek(500);
  const draw = await time(() => sim2d.draw());
  const bare = await time(() => {
    ctx.fillStyle = "#888";
    ctx.strokeStyle = "#222";
    ctx.lineWidth = 1;
    for (let i = 0; i < 1000; i++) {
      ctx.beginPath();
      ctx.arc(20 + 20 * (i % 40), 20 + 20 * Math.floor(i / 40), 8, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
    }
  });
  document.querySelector(".play").click();
  const start = performance.now(),
    first = sim2d.stats.draws;
  let pictures = 0;
  while (performance.now() - start < 4000) {
    await next();
    pictures++;
  }
  const seconds = (performance.now() - start) / 1000;
  return {
    frames: sim2d.frameCount,
    decode,
    draw,
    bare,
    rate: pictures / seconds,
    drawn: (sim2d.stats.draws - first) / seconds,
  };
});
await browser.close();
const ms = (value) => `${value.toFixed(2)} ms`;
console.log(`1000 bodies, ${result.frames} frames; medians of 60
decode a frame          ${ms(result.decode.calls)}
draw it, calls          ${ms(result.draw.calls)}
draw it, to the pixels  ${ms(result.draw.pixels)}, ${(result.draw.pixels / result.bare.pixels).toFixed(1)} times 1000 bare discs (${ms(result.bare.pixels)})
played at               ${result.drawn.toFixed(0)} frames a second of ${result.rate.toFixed(0)} the browser asked for`);
