// The page of the live viewer in a browser: what its controls do to the run, and what a reader sees.
import test from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { sim2d, sleep, until } from "./live_client.mjs";

function skip(why) {
  console.log(`SKIPPED: ${why}`);
  process.exit(77);
}

const CHROMIUM = process.env.S2_CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(CHROMIUM)) skip(`there is no ${CHROMIUM}`);
let chromium;
try {
  ({ chromium } = createRequire(`${process.env.S2_NODE_MODULES}/`)("playwright-core"));
} catch {
  skip("playwright-core is not installed");
}
const probe = sim2d(["--view", "-e", "os.exit(0)"]);
await probe.ended();
if (probe.err.includes("built without the live viewer")) skip(probe.err.trim());

const folder = mkdtempSync(join(tmpdir(), "sim2d-page-"));
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
test.after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const SCENE = `
local sim = require "sim2d"
local options = sim.options { mu = { 0.5, "friction" } }
local world = sim.world {}
world:box { name = "floor", type = "static", position = { 0, -0.5 }, size = { 12, 1 } }
local box = world:box { name = "box", position = { 0, 0.5 }, size = { 1, 1 }, friction = options.mu }
world:circle { name = "ball", radius = 0.4, position = { -2, 0.4 } }
local push = sim.slider { name = "push", max = 20, unit = "N" }
sim.button { name = "jump", on_press = function() box.velocity = { 0, 4 } end }
sim.button { name = "fail", on_press = function() error "oh no" end }
sim.watch("height", function() return box.y end, "m")
world:before_step(function()
  box:apply_force { push.value, 0 }
  if sim.key "k" then box.y = 3 end
end)
world:run { duration = 1000, progress = false }
`;

// The program, its page, and all that went wrong in it.
function shown(name, body, { viewport = { width: 1200, height: 760 }, text = SCENE, args = [] } = {}) {
  test(name, { timeout: 120000 }, async () => {
    const path = join(folder, `${name.replace(/\W+/g, "-")}.lua`);
    writeFileSync(path, text);
    const run = sim2d(["--view", ...args, path]);
    const page = await browser.newPage({ viewport });
    const trouble = [];
    try {
      const address = await run.address();
      page.on("pageerror", (error) => trouble.push(error.message));
      page.on("console", (message) => ["error", "warning"].includes(message.type()) && trouble.push(message.text()));
      page.on("request", (request) => {
        const url = new URL(request.url());
        if (url.protocol !== "data:" && url.host !== address.host) trouble.push(`asked for ${url.origin}`);
      });
      await page.goto(address.href);
      const is = (what, f, argument) => until(what, () => page.evaluate(f, argument));
      await is("frames come", () => window.sim2d?.frameCount > 1);
      const pose = (of) => page.evaluate((n) => window.sim2d.poses().find((p) => p.name === n), of);
      const time = () => page.evaluate(() => window.sim2d.time);
      await body({ run, page, address, path, is, pose, time });
      assert.deepEqual(trouble, []);
    } finally {
      await page.close();
      run.child.kill("SIGKILL");
    }
  });
}

shown("play, pause, step, scrub, start again", async ({ page, is, time }) => {
  await is("a second is over", () => window.sim2d.time > 1);
  await page.getByRole("button", { name: "Pause" }).click();
  await is("it pauses", () => window.sim2d.live.state.paused);
  await sleep(200);
  const stopped = await time();
  await sleep(300);
  assert.equal(await time(), stopped);
  await page.getByRole("button", { name: "One frame on" }).click();
  await is("it steps", (t) => window.sim2d.time > t, stopped);
  assert.ok(Math.abs(await time() - stopped - 1 / 120) < 1e-6);
  await page.keyboard.press("Home"); // what was seen can be gone through
  await is("it is back", () => window.sim2d.index === 0);
  await page.getByRole("button", { name: "Play" }).click();
  await is("the run goes on", () => !window.sim2d.live.state.paused);
  assert.equal(await page.evaluate(() => window.sim2d.index), 0);
  await page.getByRole("button", { name: "Back to now" }).click();
  await is("the present is shown", (t) => window.sim2d.time > t, stopped + 0.1);
  await page.getByRole("button", { name: "Start again" }).click();
  await is("it starts again", (t) => window.sim2d.live.state.run === 2 && window.sim2d.time < t, stopped);
  await page.getByLabel("Speed").selectOption("fastest");
  await is("it hurries", () => window.sim2d.time > 30);
});

shown("a body is dragged with the mouse", async ({ page, is, pose }) => {
  const { screen: [x, y] } = await pose("box");
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 20, y - 20);
  await page.mouse.move(x + 60, y - 90, { steps: 4 });
  const to = await page.evaluate(([px, py]) => window.sim2d.toWorld([px, py]), [x + 60, y - 90]);
  await is("it follows", ([wx, wy]) => {
    const box = window.sim2d.poses().find((p) => p.name === "box");
    return Math.hypot(box.x - wx, box.y - wy) < 0.1;
  }, to);
  await page.screenshot({ path: join(process.env.S2_TEST_WORK ?? ".", "live-drag.png") });
  await page.mouse.up();
  await is("it falls", () => window.sim2d.poses().find((p) => p.name === "box").y < 0.51);
  // The floor does not move: the same gesture there moves the view.
  const before = await pose("floor");
  await page.mouse.move(x, before.screen[1]);
  await page.mouse.down();
  await page.mouse.move(x + 40, before.screen[1] + 10, { steps: 3 });
  await page.mouse.up();
  const after = await pose("floor");
  assert.equal(after.x, before.x);
  assert.ok(Math.abs(after.screen[0] - before.screen[0] - 40) < 1);
});

shown("plots of the script as they grow", async ({ page, is }) => {
  await is("the plot is there and grows", () => window.sim2d.time > 0.5 && [...document.querySelectorAll(".figures img")]
    .some((image) => image.alt === "Height" && image.naturalWidth === 640));
  const first = await page.getAttribute(".figures img", "src");
  await is("it is replaced", (before) => {
    const images = document.querySelectorAll(".figures img");
    return images.length === 1 && images[0].src !== before;
  }, first);
}, { text: `
local sim = require "sim2d"
local world = sim.world {}
local ball = world:circle { radius = 0.4, position = { 0, 0.4 }, velocity = { 0, 9 } }
local t, y = { 0 }, { ball.y }
world:every(0.2, function(_, time)
  t[#t + 1], y[#y + 1] = world.time, ball.y
  sim.plot { title = "Height", { t, y } }:show()
end)
world:run { duration = 1000, progress = false }
` });

shown("sliders, buttons, keys, plots of what the script watches", async ({ page, is, pose, run }) => {
  const slider = page.locator(".lil-controller", { hasText: "push (N)" });
  await slider.locator("input").fill("12");
  await slider.locator("input").press("Enter");
  await is("the box is pushed", () => window.sim2d.poses().find((p) => p.name === "box").x > 0.3);
  await slider.locator("input").fill("0");
  await slider.locator("input").press("Enter");
  await page.getByRole("button", { name: "jump" }).click();
  await is("it has jumped", () => { // half a second in the air, which a busy machine may not look at
    const { frameCount, player: { recording } } = window.sim2d;
    for (let k = Math.max(0, frameCount - 2000); k < frameCount; k++) {
      const { scene, q } = recording.frame(k);
      if (q[3 * scene.bodies.findIndex((body) => body.name === "box") + 2] > 0.9) return true;
    }
    return false;
  });
  await page.locator(".picture").click({ position: { x: 20, y: 300 } });
  await page.keyboard.down("k");
  await is("it is lifted", () => Math.abs(window.sim2d.poses().find((p) => p.name === "box").y - 3) < 0.1);
  await page.keyboard.up("k");
  await is("it falls", () => window.sim2d.poses().find((p) => p.name === "box").y < 0.6);
  await page.locator(".plot", { hasText: "height" }).locator("canvas").last().waitFor();
  await is("values belong to their frames", () => {
    const { frame } = window.sim2d;
    const i = frame.scene.bodies.findIndex((body) => body.name === "box");
    return frame.channels?.[0] === frame.q[3 * i + 2];
  });
  await page.getByRole("button", { name: "fail" }).click();
  await page.getByText("oh no").waitFor();
  assert.match(run.err, /oh no\nstack traceback:/);
  await page.getByText("oh no").click();
  await page.locator(".notice").waitFor({ state: "hidden" });
  assert.ok((await pose("box")).y > 0);
});

shown("an option runs the script again, and stays set", async ({ page, is }) => {
  const option = page.locator(".lil-controller", { hasText: "mu" });
  await option.locator("input").fill("0.25");
  await option.locator("input").press("Enter");
  await is("it runs again", () => window.sim2d.live.state.run === 2 && window.sim2d.frameCount > 1);
  assert.equal(await page.locator(".lil-controller", { hasText: "mu" }).locator("input").inputValue(), "0.25");
});

shown("a script that is saved is seen, and so are its errors", async ({ page, is, path, run }) => {
  await page.mouse.wheel(0, 0);
  writeFileSync(path, SCENE.replaceAll('"ball"', '"marble"'));
  await is("the new world is there", () => window.sim2d.frameCount > 1 &&
    window.sim2d.poses().some((p) => p.name === "marble"));
  writeFileSync(path, "error 'this is broken'");
  await page.getByText("this is broken").waitFor();
  writeFileSync(path, SCENE);
  await is("the mended world is there", () => window.sim2d.frameCount > 1 &&
    window.sim2d.poses().some((p) => p.name === "ball"));
  await page.locator(".notice").waitFor({ state: "hidden" });
  run.child.kill("SIGINT");
  await page.getByText("The connection is lost").waitFor();
}, { args: ["--watch"] });

// A task in the page, with a gamepad that the test moves.
const PLAYED = `arg[0] = "${join(resolve(process.env.S2_SOURCE ?? "."), "scenes/tasks/double_cart_pole.lua")}"
dofile(arg[0])`;

shown("a task is played by its baseline, keys and a gamepad", async ({ page, is }) => {
  const plays = page.locator(".lil-controller", { hasText: "plays (b)" }).locator("select");
  const cart = () => page.evaluate(() => window.sim2d.poses().find((p) => p.name === "cart").x);
  await is("the baseline plays", () => window.sim2d.time > 1);
  const who = (name) => until(`${name} plays`, async () => await plays.inputValue() === name);
  assert.equal(await plays.inputValue(), "baseline");
  await page.screenshot({ path: join(process.env.S2_TEST_WORK ?? ".", "live-task.png") });
  // A key, without a click into the picture first.
  await page.keyboard.down("ArrowLeft");
  await who("you");
  const x = await cart();
  await is("the cart goes left", (from) => window.sim2d.poses().find((p) => p.name === "cart").x < from - 0.2, x);
  await page.keyboard.up("ArrowLeft");
  // The choice in the panel, and the key that does the same.
  await plays.selectOption("baseline");
  await page.keyboard.press("r");
  await is("it begins again", () => window.sim2d.time < 0.5);
  await page.keyboard.press("b");
  await who("you");
  await page.keyboard.press("b");
  await who("baseline");
  // A gamepad: at rest it leaves the baseline alone, pushed it takes over.
  await page.evaluate(() => {
    window.stick = [0.05, 0, 0, 0];
    navigator.getGamepads = () => [null, { axes: window.stick, buttons: Array(16).fill({ pressed: false, value: 0 }) }];
  });
  await is("a while goes by", () => window.sim2d.time > 0.5);
  assert.equal(await plays.inputValue(), "baseline");
  await page.evaluate(() => (window.stick = [0.9, 0, 0, 0]));
  await who("you");
  const from = await cart();
  await is("the cart goes right", (before) => window.sim2d.poses().find((p) => p.name === "cart").x > before + 0.2, from);
  await page.evaluate(() => (window.stick = [0, 0, 0, 0]));
  await page.locator(".plot", { hasText: "return" }).locator("canvas").last().waitFor();
}, { text: PLAYED });

shown("on a phone", async ({ page, is }) => {
  await is("it runs", () => window.sim2d.time > 0.5);
  const box = (name) => page.getByRole("button", { name }).first().boundingBox();
  for (const name of ["Start again", "Pause", "One frame on"]) {
    const { x, width, height } = await box(name);
    assert.ok(x >= 0 && x + width <= 360 && width >= 36 && height >= 36, name);
  }
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.screenshot({ path: join(process.env.S2_TEST_WORK ?? ".", "live-phone.png") });
}, { viewport: { width: 360, height: 740 } });

test("closing the browser leaves the run going", { timeout: 120000 }, async (context) => {
  const path = join(folder, "closing.lua");
  writeFileSync(path, SCENE.replace("duration = 1000", "duration = 4") + 'print "done" io.stdout:flush()');
  const run = sim2d(["--view", path]);
  const other = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  context.after(() => {
    run.child.kill("SIGKILL");
    return other.close();
  });
  const page = await other.newPage();
  await page.goto((await run.address()).href);
  await until("frames come", () => page.evaluate(() => window.sim2d?.frameCount > 1));
  await other.close();
  await run.says("done");
  const late = await browser.newPage();
  await late.goto((await run.address()).href);
  await late.getByText("The script has ended.").waitFor();
  assert.ok(Math.abs(await late.evaluate(() => window.sim2d.time) - 4) < 1e-6);
  await late.close();
  assert.equal(await run.quit(), 0);
});

test("without the token there is no page", { timeout: 60000 }, async () => {
  const path = join(folder, "refused.lua");
  writeFileSync(path, SCENE);
  const run = sim2d(["--view", path]);
  const address = await run.address();
  const page = await browser.newPage();
  const answer = await page.goto(address.origin);
  assert.equal(answer.status(), 403);
  assert.match(await page.textContent("body"), /open the whole address/);
  await page.close();
  await run.quit();
});
