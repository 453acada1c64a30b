/** README claims nothing that is not so: its table of settings is the configuration's, its paths exist. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SETTINGS } from "../ops/config.ts";

const PLACE = /(<!-- settings: .*? -->\n)([^]*?)(<!-- \/settings -->)/;

function table(): string {
  const rows = SETTINGS.map(({ env, default: value, description }) => {
    const shown =
      value === undefined
        ? "none"
        : Array.isArray(value)
          ? value.join(",") || "none"
          : `${value as string | number}`;
    return `| \`${env}\` | ${shown === "none" ? "none" : `\`${shown}\``} | ${description.replaceAll("|", "\\|")} |`;
  });
  return ["| variable | default | meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

test("the table of settings is the configuration's", () => {
  const readme = readFileSync("README.md", "utf8");
  if (process.env["UPDATE"]) {
    writeFileSync(
      "README.md",
      readme.replace(PLACE, (_, open, _old, close) => `${open}${table()}${close}`),
    );
    return;
  }
  expect(PLACE.exec(readme)?.[2]).toBe(table());
});

test("every file and folder it names is there", () => {
  const readme = readFileSync("README.md", "utf8");
  const named = [
    ...readme.matchAll(/`((?:schemas|cluster|actors|gateway|ops|bench|test|\.ci)\/[\w./-]*)`/g),
  ].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
