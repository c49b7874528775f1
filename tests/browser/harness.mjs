// Tests in a headless browser: node test_NAME.mjs, run by ctest. S2_SIM2D is the command,
// S2_NODE_MODULES the folder of that name with playwright-core, S2_SOURCE the source tree; without
// them those of the folder build, seen from the top. What is missing is told, and the test skipped.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const SKIPPED = 77; // SKIP_RETURN_CODE of ctest
const BROWSERS = [
  process.env.S2_CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

export const source = process.env.S2_SOURCE ?? resolve(".");
export const command = process.env.S2_SIM2D ?? resolve("build/sim2d");
export const work = resolve(process.env.S2_SIM2D ? "browser" : "build/browser"); // recordings and screenshots
const modules = process.env.S2_NODE_MODULES ?? resolve("build/lua/viewer/npm/node_modules");
mkdirSync(work, { recursive: true });

function skip(reason) {
  console.log(`skipped: ${process.argv[1].replace(/^.*\//, "")}: ${reason}`);
  process.exit(SKIPPED);
}

export async function launch() {
  const executablePath = BROWSERS.find((path) => path && existsSync(path));
  if (!executablePath) skip("there is no chromium (S2_CHROMIUM names one elsewhere)");
  let chromium;
  try {
    ({ chromium } = createRequire(join(modules, "/"))(
      "playwright-core",
    ));
  } catch {
    skip("playwright-core is not installed (npm ci in lua/viewer)");
  }
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

// Opens a page that must not complain and must ask nobody for anything. `trouble` is what it did.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.trouble = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.trouble.push(message.text());
  });
  page.on("pageerror", (error) => page.trouble.push(String(error.stack)));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:"))
      page.trouble.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

export function sim2d(...words) {
  return execFileSync(command, words, {
    cwd: work,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

const tests = [];
export const test = (name, body) => tests.push({ name, body });

export async function run() {
  const only = process.argv[2];
  let failures = 0;
  const chosen = tests.filter(({ name }) => !only || name.includes(only));
  for (const { name, body } of chosen) {
    try {
      await body();
      console.log(`ok     ${name}`);
    } catch (error) {
      failures++;
      console.log(`FAILED ${name}\n${error.stack}`);
    }
  }
  console.log(`${chosen.length - failures} of ${chosen.length} passed`);
  process.exitCode = failures > 0 ? 1 : 0;
}
