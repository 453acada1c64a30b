/** Groups of siblings, and what is known of their links. */
import { expect, test } from "vitest";
import { findGroups } from "../../../../actors/reading/article/groups.ts";
import { toLines } from "../../../../actors/reading/article/lines.ts";
import { readPage, unseenInline } from "../../../../actors/reading/article/marks.ts";
import { peersOf } from "../../../../actors/reading/article/peers.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const card = (href: string, name: string): string =>
  `<div class="card"><h3><a href="${href}">${name}</a></h3><p>Two sentences about it. They are short.</p></div>`;
const groupsOf = (body: string, url = "https://www.harbour.example/boats/") => {
  const page = readPage(buildTree(`<body>${body}</body>`), false);
  return { page, groups: findGroups(page, url) };
};

test.each([
  ["below the page", "/boats/wren", { below: 3, away: 0, shared: 3 }],
  [
    "below the page, as whole addresses",
    "https://harbour.example/boats/wren",
    { below: 3, away: 0, shared: 3 },
  ],
  ["below the page, relative to it", "wren", { below: 3, away: 0, shared: 3 }],
  ["elsewhere on the host", "/about", { below: 0, away: 0, shared: 0 }],
  ["on another host", "//other.example/boats/wren", { below: 0, away: 3, shared: 0 }],
])("links of a group that lead %s", (_, href, expected) => {
  const { groups } = groupsOf(
    `<main>${[1, 2, 3].map((n) => card(`${href}${n}`, `Boat number ${n}`)).join("")}</main>`,
  );
  expect(groups.list[0]).toMatchObject({ count: 3, links: 3, ...expected });
});

test("links that are no addresses are not counted", () => {
  const { groups } = groupsOf(
    [1, 2, 3].map((n) => card(n > 1 ? "#top" : "mailto:a@b.example", `Boat ${n}`)).join(""),
  );
  expect(groups.list[0]).toMatchObject({ count: 3, links: 0 });
});

test("groups are ranked by their text, and even ones have no spread", () => {
  const cards = [1, 2, 3].map((n) => card("/a", `Boat number ${n}`)).join("");
  const links = [1, 2, 3].map((n) => `<li><a href="/${n}">Harbour ${n}</a></li>`).join("");
  const { groups } = groupsOf(`<ul>${links}</ul><main>${cards}</main>`);
  const ranked = groups.list.toSorted((a, b) => a.rank - b.rank);
  expect(ranked.map(({ headings, spread }) => [headings, spread])).toEqual([
    [3, 0],
    [0, 0],
  ]);
});

test("lines of one structure are peers, and each heading begins a section", () => {
  const { page, groups } = groupsOf(
    `<main>${[1, 2, 3].map((n) => card("/a", `Boat number ${n}`)).join("")}</main>`,
  );
  const peers = peersOf(page, toLines(page, unseenInline(page)), groups);
  expect([...peers.structure]).toEqual([0, 1, 0, 1, 0, 1]);
  expect([...peers.section]).toEqual([1, 1, 2, 2, 3, 3]);
  expect(new Set(peers.group).size).toBe(1);
});
