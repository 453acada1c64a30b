/** `npm run outdated`: the direct dependencies that are a major behind. Exit code 1 where there are any; 0 where the registry cannot be asked, in a line. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { majorsBehind } from "./majors-behind.ts";

const WAIT_MS = 120_000;
const { stdout } = spawnSync("npm", ["outdated", "--json"], {
  cwd: fileURLToPath(new URL("../..", import.meta.url)),
  encoding: "utf8",
  timeout: WAIT_MS,
});
const listed = readListed(stdout);
if (listed === null) console.log("Cannot ask the registry of packages: not known what is outdated");
else {
  const behind = majorsBehind(listed);
  for (const { name, current, latest } of behind) console.log(`${name}: ${current}, newest ${latest}`);
  console.log(
    `${behind.length} direct ${behind.length === 1 ? "dependency is" : "dependencies are"} a major behind`,
  );
  if (behind.length > 0) process.exitCode = 1;
}

/** Null: npm printed an error, or nothing. */
function readListed(text: string | null): Parameters<typeof majorsBehind>[0] | null {
  try {
    const read = JSON.parse(text ?? "") as Record<string, unknown>;
    return "error" in read ? null : (read as Parameters<typeof majorsBehind>[0]);
  } catch {
    return null;
  }
}
