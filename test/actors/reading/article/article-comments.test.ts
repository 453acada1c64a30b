/** Readers' comments below articles: what is one, and what only looks like one. */
import { describe, expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";

const NOW_MS = Date.UTC(2026, 10, 26);
const NEWS = [
  "The ferry company said on Tuesday that three more ships will sail every evening between the harbour and the island.",
  "Fares stay as they are until the end of the summer, when the council of the island will vote on the new contract.",
  "Passengers had asked for later ships for years, because the last one left before the theatre on the mainland ended.",
];
const BODY = NEWS.map((text) => `<p>${text}</p>`).join("");

const read = (
  below: string,
  { body = BODY, url = "https://harbour.example/news/2026/ferry", lang = "en" } = {},
) =>
  readHtml(
    `<html lang="${lang}"><title>More ferries</title><body><main><h1>More ferries</h1><article>${body}</article>${below}</main></body></html>`,
    url,
    NOW_MS,
    { comments: true },
  );

interface Said {
  readonly by: string;
  readonly at: string;
  readonly says: string;
}
const SAID: readonly Said[] = [
  {
    by: "Zenon",
    at: "04.01.2012 14:33",
    says: "At last. I have waited for this since the bridge was closed.",
  },
  { by: "miki", at: "05.01.2012 09:10", says: "And who pays for it? The island, as always." },
  { by: "Ola K.", at: "06.01.2012 22:01", says: "A third ship would have been enough for the winter." },
];
const TOLD = SAID.map(({ by, at, says }) => ({
  author: by,
  published_at: `${at.slice(6, 10)}-${at.slice(3, 5)}-${at.slice(0, 2)}T${at.slice(11)}:00`,
  text: says,
}));
const each = (write: (said: Said) => string): string => SAID.map(write).join("");

describe("are told", () => {
  test.each([
    [
      "by name, in Polish",
      `<div id="komentarze">${each(({ by, at, says }) => `<div><b>${by}</b> <i>${at}</i><p>${says}</p></div>`)}</div>`,
    ],
    [
      "by name, in a list with replies in it",
      `<ol class="commentlist"><li><div><cite class="fn">Zenon</cite> <a href="#1">04.01.2012 14:33</a><p>${SAID[0]!.says}</p></div>
      <ul class="children"><li><div><cite class="fn">miki</cite> <a href="#2">05.01.2012 09:10</a><p>${SAID[1]!.says}</p></div></li></ul></li>
      <li><div><cite class="fn">Ola K.</cite> <a href="#3">06.01.2012 22:01</a><p>${SAID[2]!.says}</p></div></li></ol>`,
    ],
    [
      "by name, with authors that are links above the dates",
      `<div class="comments" id="comments"><h4>3 comments:</h4><ol>${each(
        ({ by, at, says }) =>
          `<li class="comment"><div class="header"><div><a href="https://profiles.example/${at.slice(0, 2)}">${by}</a></div><div><a href="#c">${at}</a></div></div><p>${says}</p><span><a>Reply</a></span></li>`,
      )}</ol></div>`,
    ],
    [
      "by name, in a cell behind the blanks of its row",
      `<table>\n<tr>\n<td id="komentarze">${each(({ by, at, says }) => `<b>${by}</b> <i>${at}</i><p>${says}</p>`)}</td></tr></table>`,
    ],
    [
      "by name, in a list of terms",
      `<dl class="reacties">${each(({ by, at, says }) => `<dt>${by}, ${at}</dt><dd>${says}</dd>`)}</dl>`,
    ],
    [
      "by a heading and their structure",
      `<h3>Σχόλια (3)</h3><div class="x1">${each(({ by, at, says }) => `<div class="x2"><span class="x3">${by}</span><p class="x4">${at}</p><p>${says}</p></div>`)}</div>`,
    ],
    [
      "by their structure alone",
      `<div class="x1">${each(({ by, at, says }) => `<div class="x2"><p class="x3">${by}</p><p class="x4">${at}</p><p>${says}</p></div>`)}</div>`,
    ],
  ])("%s", (_, below) => {
    const { comments, text } = read(below);
    expect(comments).toEqual(TOLD);
    expect(text).toContain(NEWS.join("\n\n"));
    expect(SAID.filter(({ says }) => text.includes(says))).toEqual([]);
  });

  test("with a time that counts from now, which is no date", () => {
    const below = `<div class="comments"><div class="comment"><b class="author">Ada</b> <span>3 hours ago</span><p>So do I, every evening.</p></div></div>`;
    expect(read(below).comments).toEqual([
      { author: "Ada", published_at: null, text: "So do I, every evening." },
    ]);
  });
});

describe("are not", () => {
  const teasers = each(
    ({ at, says }) =>
      `<div class="x2"><h3><a href="/n">${says.slice(0, 30)}</a></h3><p class="x4">${at}</p><p>${says}</p></div>`,
  );
  const form = `<form><label>Name *</label> <p>Zenon</p><p>04.01.2012 14:33</p><p>Leave a comment below.</p></form>`;
  test.each([
    ["teasers below an article", `<div class="x1">${teasers}</div>`],
    ["a form to write one", `<div id="comments">${form}</div>`],
    [
      "teasers with a link to their category above the date",
      `<div class="x1">${each(({ by, at, says }) => `<div class="x2"><div><a href="/${by}">${by}</a></div><p class="x4">${at}</p><p>${says}</p></div>`)}</div>`,
    ],
    ["a count", '<div class="comments">3 comments, the last on 04.01.2012 14:33</div>'],
  ])("%s", (_, below) => {
    expect(read(below).comments).toEqual([]);
  });

  test("the posts of a thread, which are its text", () => {
    const post = ({ by, at, says }: Said): string =>
      `<div class="post"><p class="author">${by}</p><p class="date">${at}</p><p>${says} ${says} ${says}</p></div>`;
    const { comments, text } = read(`<div class="comments">${each(post)}</div>`, {
      body: "",
      url: "https://harbour.example/forum/viewtopic.php?t=1",
    });
    expect(comments).toEqual([]);
    expect(text).toContain("And who pays for it?");
  });
});
