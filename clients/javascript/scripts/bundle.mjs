// Writes dist/shuffledp-client.min.js: the whole client for browsers as one small module.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const { build } = await import("esbuild").catch((error) => {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  console.error("bundle.mjs: esbuild is missing: run npm ci first");
  process.exit(1);
});

const here = fileURLToPath(new URL("..", import.meta.url));
const licence = (await readFile(`${here}vendor/hpke.LICENSE.md`, "utf8")).trim().replace(/\s+/g, " ");
await build({
  entryPoints: [`${here}src/index.js`],
  outfile: `${here}dist/shuffledp-client.min.js`,
  bundle: true,
  minify: true,
  format: "esm",
  banner: { js: `/* shuffledp-client, Apache-2.0. With hpke: ${licence} */` },
});
