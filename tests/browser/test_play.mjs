// Tasks in the live viewer, from outside: the baseline plays, then a client by keys and a gamepad's axes.
import test from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { client, sim2d } from "./live_client.mjs";

const source = resolve(process.env.S2_SOURCE ?? ".");
const probe = sim2d(["--view", "-e", "os.exit(0)"]);
await probe.ended();
if (probe.err.includes("built without the live viewer")) {
  console.log(`SKIPPED: ${probe.err.trim()}`);
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), "sim2d-play-"));
test.after(() => rmSync(folder, { recursive: true }));

// The program and a client that knows values by the names of watches, and who plays.
function played(name, script, body, args = []) {
  test(name, { timeout: 60000 }, async () => {
    const run = sim2d(["--view", ...args, script]);
    try {
      const page = await client(await run.address());
      page.value = (of) => page.values?.values[page.controls.watches.findIndex((watch) => watch.name === of)];
      page.who = () => page.controls?.choices[0].value;
      page.tap = (key) => {
        page.send(`key 1 ${key}`);
        page.send(`key 0 ${key}`);
      };
      await page.until("it is shown", (seen) => seen.frame && seen.controls && seen.values);
      await body({ run, page });
      page.close();
      await run.quit();
    } finally {
      run.child.kill("SIGKILL");
    }
  });
}

const task = (name) => join(source, "scenes/tasks", `${name}.lua`);

played("the baseline plays until a key is pressed, and again", task("double_cart_pole"), async ({ page }) => {
  assert.deepEqual(page.controls.choices[0], { type: "choice", name: "plays", key: "b", values: ["baseline", "you"], value: "baseline" });
  assert.deepEqual(page.controls.buttons, [{ type: "button", name: "Again", key: "r" }]);
  await page.until("the baseline balances", (seen) => seen.frame.time > 1.5);
  assert.equal(page.who(), "baseline");
  assert.ok(Math.abs(page.body("upper").angle) < 0.1);
  assert.ok(page.value("return") > 60);
  assert.equal(page.value("episode"), 1);
  // A key takes over.
  const { x } = page.body("cart");
  page.send("key 1 right");
  await page.until("the cart is pushed to the right", () => page.who() === "you" && page.body("cart").x > x + 0.3);
  page.send("key 0 right");
  // Nobody holds the poles now: the episode ends, and another begins with the next seed.
  await page.until("another episode", () => page.value("episode") === 2);
  assert.equal(page.who(), "you");
  page.tap("b");
  await page.until("the baseline plays", () => page.who() === "baseline");
  page.send("choose 1 2");
  await page.until("it is chosen", () => page.who() === "you");
});

played("a gamepad's axis pushes as far as it is pushed; r begins again", task("double_cart_pole"), async ({ page }) => {
  assert.ok(page.controls.axes.includes("left_x"));
  await page.until("it plays", (seen) => seen.frame.time > 0.5);
  const { x } = page.body("cart");
  page.send("axis left_x -0.8");
  await page.until("the cart is pushed to the left", () => page.who() === "you" && page.body("cart").x < x - 0.3);
  page.send("axis left_x 0");
  for (const text of ["axis left_x nan", "axis left_x", "axis middle 1", "axis", "choose 1 3", "choose 2 1", "choose 1"]) page.send(text);
  page.tap("b");
  await page.until("the baseline plays", () => page.who() === "baseline");
  const { episode } = { episode: page.value("episode") };
  await page.until("a while goes by", () => page.value("step") > 20);
  page.tap("r");
  await page.until("the episode begins again", () => page.value("step") < 10);
  assert.equal(page.value("episode"), episode);
});

played("actions by number: keys choose", task("cart_pole"), async ({ page }) => {
  await page.until("the baseline balances", (seen) => seen.frame.time > 1);
  assert.ok(Math.abs(page.body("pole").angle) < 0.2);
  const { x } = page.body("cart");
  page.send("key 1 left");
  await page.until("the cart goes left", () => page.who() === "you" && page.body("cart").x < x - 0.1);
});

// A goal, and a force with a rest.
const GOALS = `
local sim = require "sim2d"
local goal, grip
local env = sim.env { name = "goals", period = 0.02, max_steps = 1000000,
  world = function()
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local box = world:box { name = "box", size = { 1, 1 }, mask = 0 }
    local x = world:slider { box, axis = { 1, 0 }, anchor = { 0, 0 } }
    goal = world:actuator { "x", joint = x, kind = "position", range = { -2, 2 } }
    grip = world:actuator { "grip", body = box, kind = "torque", range = { -3, 9 } }
    world:observe { "x", of = x, field = "translation" }
    return world
  end,
  keys = { right = { 1 }, left = { -1 }, space = { [2] = 10 }, rt = { 0, 4 }, none = { 0, -1 } },
  reset = function(world) world.bodies.box.x = 0.5 end,
  reward = function() return 0 end }
sim.watch("goal", function() return goal.value end)
sim.watch("grip", function() return grip.value end)
env:play()
`;
const goals = join(folder, "goals.lua");
writeFileSync(goals, GOALS);

played("goals are moved and stay, forces go back to their rest", goals, async ({ page, run }) => {
  assert.deepEqual(page.controls.choices[0].values, ["you"]); // there is no baseline
  await page.until("the goal is where the joint is", () => page.value("goal") === 0.5 && page.value("grip") === -1);
  page.send("key 1 right");
  await page.until("the goal moves", () => page.value("goal") > 0.7);
  page.send("key 0 right");
  await page.until("it stays", async () => {
    const { step } = page.frame, at = page.value("goal");
    await page.until("ten steps", (seen) => seen.frame.step > step + 10);
    return page.value("goal") === at && at < 2;
  });
  page.send("key 1 space");
  await page.until("it grips", () => page.value("grip") === 9);
  page.send("key 0 space");
  page.send("axis rt 0.5");
  await page.until("it grips half as much", () => page.value("grip") === 1);
  page.send("axis rt 0");
  page.send("key 1 pad_left"); // the cross stands in for the arrows
  await page.until("the goal is at its end", () => page.value("goal") === -2 && page.value("grip") === -1);
  assert.match(run.out, /goals: your keys: left, right, rt, space; b: change player, r: restart the episode/);
});

// A law that tries things out in a clone.
const model = join(folder, "model.lua");
writeFileSync(model, `
local sim = require "sim2d"
sim.env { name = "model", max_steps = 20,
  world = function()
    local world = sim.world { dt = 0.01, gravity = { 0, 0 } }
    local box = world:box { name = "box", size = { 1, 1 } }
    world:actuator { "push", body = box, kind = "force", direction = { 1, 0 }, range = { -1, 1 } }
    world:observe { "box", of = box, field = "x" }
    return world
  end,
  baseline = function(env)
    local clone = env.world:clone()
    return function()
      clone:step()
      return 1
    end
  end,
  reward = function() return 1 end }:play()
`);
const tried = join(folder, "tried.csv");
played("worlds in which a law tries things out are no part of it", model, async ({ page, run }) => {
  await run.says("episode 2 (seed 1), baseline: return 20.0, 20 steps");
  await page.until("the third", () => page.value("episode") === 3);
  assert.equal(page.state.worlds.length, 1);
  page.close();
  await run.quit();
  // A file an episode, and what is seen of its end.
  assert.equal(readFileSync(tried, "utf8").trim().split("\n").length, 1 + 1 + 20 + 100);
  assert.ok(existsSync(join(folder, "tried-2.csv")));
}, ["--record", tried]);

// What a person plays is recorded.
const record = join(folder, "played.s2d");
played("what is played is recorded", task("cart_pole"), async ({ page, run }) => {
  page.send("key 1 right");
  await run.says("episode 1 (seed 0), you: return");
  await page.until("the next one", () => page.value("episode") === 2);
  page.close();
  await run.quit();
  assert.ok(existsSync(record) && readFileSync(record).length > 10000);
  const told = sim2d(["inspect", record]);
  await told.ended();
  assert.match(told.out, /complete/);
  assert.doesNotMatch(told.out, /cut short/);
}, ["--record", record]);
