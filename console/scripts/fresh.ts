// Fails if the committed route tree is not what the routes give. The client's freshness is checked by `cargo xtask check`.
import { readFileSync } from "node:fs";
import { Generator, getConfig } from "@tanstack/router-generator";

const path = "src/routeTree.gen.ts";
const committed = readFileSync(path, "utf8");
const root = process.cwd();
await new Generator({ config: getConfig({ target: "react", autoCodeSplitting: true }, root), root }).run();
if (readFileSync(path, "utf8") !== committed) {
  console.error(`${path} was not fresh: commit it`);
  process.exit(1);
}
