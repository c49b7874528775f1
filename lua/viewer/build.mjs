// Bundles src/ into one HTML file without external resources: node build.mjs NODE_MODULES OUTPUT
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [modules, output] = process.argv.slice(2);
const here = (name) => fileURLToPath(new URL(`src/${name}`, import.meta.url));
const { build } = createRequire(`${modules}/`)("esbuild");

const bundled = await build({
  entryPoints: [here("main.js")],
  bundle: true,
  minify: true,
  write: false,
  outdir: "out",
  format: "iife",
  target: "es2021",
  charset: "utf8",
  loader: { ".svg": "text" },
  nodePaths: [modules],
  legalComments: "inline",
});
const text = (suffix) => bundled.outputFiles.find((file) => file.path.endsWith(suffix))?.text ?? "";
// A "</script" or "</style" in the embedded texts would end them.
const script = text(".js").replaceAll("</script", "<\\/script");
// A second protection against the contents of recordings: no other script runs, and nothing is
// loaded from elsewhere. The live viewer's page opens its websocket at its own host.
const digest = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; ` +
  "img-src data: blob:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'";
const page = readFileSync(here("page.html"), "utf8")
  .replace("/*POLICY*/", () => policy)
  .replace("/*STYLE*/", () => text(".css"))
  .replace("/*SCRIPT*/", () => script);
const LIMIT = 200_000; // bytes; it goes into every recording that is a page
const size = Buffer.byteLength(page);
console.log(`The viewer's page has ${(size / 1000).toFixed(1)} kB`);
if (size > LIMIT) throw new Error(`the page has ${size} bytes, more than ${LIMIT}`);
writeFileSync(output, page);
