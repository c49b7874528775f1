// A robustness map: its pixels open the runs they stand for in the player.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open, run, sim2d, test, work } from "./harness.mjs";

const browser = await launch();
writeFileSync(
  join(work, "map.lua"),
  `local sim = require "sim2d"
local sweep = sim.sweep { grid = { a = { 1, 2, 3 }, b = { 1, 2 } }, repeats = 2, record = "map.runs", run = function(p)
  if p.a == 3 and p.b == 1 then error "<img src=x onerror='window.pwned = 1'>" end
  local world = sim.world { dt = 0.01 }
  world:circle { radius = p.a, name = "ball" }
  world:step(p.a * 10 + p.b)
  return { size = p.a }
end }
assert(sweep:map { x = "a", y = "b", value = "size", path = "map.html", title = "<b>Map</b>" })
`,
);
sim2d("map.lua");
const address = `file://${join(work, "map.html")}`;

// The player of the run that is shown, once it is ready.
async function shown(page) {
  const frame = page.frames().find((other) => other !== page.mainFrame());
  await frame.waitForFunction(() => window.sim2d?.ready);
  return frame;
}

test("a pixel opens its run, and a button each of several", async () => {
  const page = await open(browser, address);
  const cell = (a, b) => page.locator(`rect[data-cell="${(a - 1) * 2 + b - 1}"]`);
  for (const [a, b] of [[2, 1], [1, 2]]) {
    await cell(a, b).click();
    assert.equal(await page.locator("#runs button").count(), 2);
    await page.locator("#runs button").nth(1).click();
    const text = await page.locator("#about").textContent();
    assert.match(text, new RegExp(`a: ${a}\\nb: ${b}\\n`));
    const frame = await shown(page);
    await frame.waitForFunction((frames) => document.body.textContent.includes(`/ ${frames}`), a * 10 + b + 1);
  }
  assert.deepEqual(page.trouble.filter((text) => !text.includes("about:srcdoc")), []);
  await page.context().close();
});

test("a run that failed says why, as text; a run may be named in the address", async () => {
  const page = await open(browser, `${address}#job=9`);
  assert.match(await page.locator("#about").textContent(), /failed: .*<img src=x[^]*no recording/);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.locator("svg text b").count(), 0);
  await page.context().close();
  const second = await open(browser, `${address}#job=4`);
  assert.match(await second.locator("#about").textContent(), /a: 1\nb: 2\n[^]*job: 4\n/);
  assert.equal(await second.locator("#runs button.chosen").textContent(), "run 4");
  await second.context().close();
});

await run();
await browser.close();
