// Writes vendor/hpke.js: those parts of the npm package `hpke` that the client uses, as one module that needs nothing
// else, so that a page can load the client from its files. `--check` only says whether the file is up to date.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const { version, license } = JSON.parse(await readFile(`${here}node_modules/hpke/package.json`, "utf8"));
const names = ["CipherSuite", "KEM_DHKEM_X25519_HKDF_SHA256", "KDF_HKDF_SHA256", "AEAD_AES_128_GCM"];
const { outputFiles } = await build({
  stdin: { contents: `export { ${names.join(", ")} } from "hpke";`, resolveDir: here },
  bundle: true,
  format: "esm",
  write: false,
});
const head = `// @ts-nocheck
// hpke ${version} from npm, licence ${license} (hpke.LICENSE.md): written by scripts/vendor.mjs
`;
// without the names of files on whoever's machine this is, spaces at ends and empty lines
const text = outputFiles[0].text.replace(/^\/\/ .*node_modules\/.*\n/gm, "").replace(/[ \t]+$/gm, "");
const files = {
  "vendor/hpke.js": head + text.replace(/\n{2,}/g, "\n"),
  "vendor/hpke.LICENSE.md": await readFile(`${here}node_modules/hpke/LICENSE.md`, "utf8"),
};
for (const [name, text] of Object.entries(files)) {
  if (!process.argv.includes("--check")) await writeFile(here + name, text);
  else if ((await readFile(here + name, "utf8")) !== text) throw new Error(`${name} is not what npm has: npm run vendor`);
}
