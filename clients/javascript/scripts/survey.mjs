// Writes the program of the survey page: the page's own modules and the parts of the client that they use, as one file,
// and one small file for each part that only some tasks need. They are kept in the repository, so that a server needs no
// Node. `--check` only says whether the files are up to date; a folder as argument is that of another copy of the
// repository.
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const [folder] = process.argv.slice(2).filter((each) => !each.startsWith("--"));
const root = folder ? resolve(folder) : fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const client = `${root}/clients/javascript`;
const page = `${root}/src/shuffledp/collect/web/static/survey`;

/** What the page has in place of modules of the client. */
const IN_PLACE = new Map([
  [`${client}/src/asked.js`, `${client}/survey/asked.js`],
  [`${client}/src/kinds.js`, `${client}/survey/parts.js`],
]);

/**
 * What the page does not use of the library, which only seals for it, and with one suite: getters, methods, names of
 * errors, the case of a KDF of one stage and that of an AEAD that only exports.
 */
const UNUSED = [
  [/^( +)get \w+\(\) \{\n[^]*?^\1\},?\n/gm, ""],
  [/^( +)(?:async )?(?:#extractRecipientKeys|(?:Receive|Send)?Export|Open|SetupRecipient|Decap|DeriveKeyPair|(?:Des|S)erializePrivateKey)\(.*\{\n[^]*?^\1\},?\n/gm, ""],
  [/^ {2}async (?:GenerateKeyPair|SerializePublicKey)\(.*\{\n[^]*?^ {2}\}\n/gm, ""],
  [/^ +(?:DeriveKeyPair: |pkcs8: |Error\.captureStackTrace|this\.name = ).*\n/gm, ""],
  [/KDFStages\([\w.]+\)(?! \{)/g, "2"],
  [/[\w.#]*suite\.AEAD\.id === EXPORT_ONLY/g, "false"],
];

/** Returns the used parts of the library; an update of it in which one cannot be found must be looked at. */
function used(code) {
  return UNUSED.reduce((rest, [part, other]) => {
    if (rest.search(part) < 0) throw new Error(`hpke has nothing like ${part}`);
    return rest.replace(part, other);
  }, code);
}

/** Returns the place after a text or a bracket that begins at a place. */
function after(code, start) {
  const quote = "\"'`".includes(code[start]) ? code[start] : "";
  for (let at = start + 1; at < code.length; at++) {
    if (code[at] === "\\") at++;
    else if (quote ? code[at] === quote : ")]}".includes(code[at])) return at + 1;
    else if (quote === "`" && code.startsWith("${", at)) at = after(code, at + 1) - 1;
    else if (!quote && "([{\"'`".includes(code[at])) at = after(code, at) - 1;
  }
  return code.length;
}

/** Leaves out what errors say to programmers: the page has its own sentences, and shows only why a promise is broken. */
function withoutMessages(source) {
  const code = source.replace(/(\bmeaning: )"[^"]*"/g, '$1""'); // of refusals
  let [kept, from] = ["", 0];
  for (const { 0: call, index } of code.matchAll(/new (?!BrokenPromise)\w*Error\(|(?<!function )\bnoted\(error, /g)) {
    const start = index + call.length;
    let end = start;
    while (!",)".includes(code[end])) end = "([{\"'`".includes(code[end]) ? after(code, end) : end + 1;
    if (start < from) continue; // inside another call
    kept += `${code.slice(from, start)}""`;
    from = end;
  }
  return kept + code.slice(from);
}

/** @type {import("rolldown").Plugin} */
const smaller = {
  name: "smaller",
  async resolveId(source, importer, options) {
    const found = await this.resolve(source, importer, { ...options, skipSelf: true });
    return IN_PLACE.get(found?.id ?? "") ?? found;
  },
  transform(code, id) {
    if (!/javascript\/(src|vendor)\/.*\.js$/.test(id)) return null;
    return withoutMessages(id.endsWith("/vendor/hpke.js") ? used(code) : code);
  },
};

const bundle = await rolldown({
  input: { survey: `${client}/survey/ask.js` },
  preserveEntrySignatures: false,
  plugins: [smaller],
});
const { output } = await bundle.generate({
  format: "es",
  minify: true,
  comments: false,
  postBanner: "/* The survey page of shuffledp, Apache-2.0; with hpke, MIT: licence.txt */",
  entryFileNames: "[name].js",
  chunkFileNames: "[name].js",
  codeSplitting: { groups: [{ name: "survey", test: /survey.(ask|pausing)\.js$/ }] },
});
const written = new Map(output.map(({ fileName, code }) => [fileName, code]));
written.set("licence.txt", await readFile(`${client}/vendor/hpke.LICENSE.md`, "utf8"));
const stale = (await readdir(page)).filter((name) => /\.(js|txt)$/.test(name) && !written.has(name));
if (process.argv.includes("--check")) {
  const same = async ([name, text]) => (await readFile(`${page}/${name}`, "utf8").catch(() => "")) === text;
  const all = (await Promise.all([...written].map(same))).every(Boolean);
  if (!all || stale.length > 0) throw new Error("the program of the survey page is not up to date: npm run survey");
} else {
  await Promise.all([...written].map(([name, text]) => writeFile(`${page}/${name}`, text)));
  await Promise.all(stale.map((name) => rm(`${page}/${name}`)));
}
