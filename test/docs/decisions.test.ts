/** The records of decisions have one form, and the index has a row with the title and the status of each. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const FOLDER = "ops/decisions";
const FORM =
  /^# (\d{4}): ([A-Z\d].*)\n\nStatus: ((?:in force since|superseded on) 20\d\d-\d\d-\d\d(?:,? (?:in part superseded )?by \[\d{4}\]\([\w-]+\.md\)(?: and \[\d{4}\]\([\w-]+\.md\))*)?)\n\n\S/;

const records = readdirSync(FOLDER).filter((name) => name !== "README.md");
const headOf = (name: string) => {
  const [, number, title, status] = FORM.exec(readFileSync(`${FOLDER}/${name}`, "utf8")) ?? [];
  return { name, number, title, status };
};

test("each record has a number, a title and a status in one form", () => {
  expect(records.length).toBeGreaterThan(50);
  expect(records.map(headOf).filter(({ name, number }) => number !== name.slice(0, 4))).toEqual([]);
  expect(new Set(records.map((name) => name.slice(0, 4))).size).toBe(records.length);
});

test("the index lists each record once, as it calls itself", () => {
  const rows = [
    ...readFileSync(`${FOLDER}/README.md`, "utf8").matchAll(
      /^\| \[(\d{4})\]\(([^)]+)\) \| (.*) \| (.*) \|$/gm,
    ),
  ].map(([, number, name, title, status]) => ({
    name,
    number,
    title: title!.replaceAll("\\|", "|"),
    status,
  }));
  const byName = <T extends { readonly name?: string | undefined }>(list: readonly T[]) =>
    list.toSorted((a, b) => (a.name! < b.name! ? -1 : 1));
  expect(byName(rows)).toEqual(byName(records.map(headOf)));
});
