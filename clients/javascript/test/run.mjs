// Runs the checks of a module in Node:  node test/run.mjs MODULE FOLDER, where FOLDER holds the vectors. Writes JSON.
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [module, folder] = process.argv.slice(2);
const { check } = await import(pathToFileURL(resolve(module)).href);
const load = async (path) => JSON.parse(await readFile(join(folder, path), "utf8"));
process.stdout.write(JSON.stringify(await check(load)));
