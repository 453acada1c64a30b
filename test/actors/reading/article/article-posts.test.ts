/** Posts of threads are text as a whole, and what surrounds them is not. */
import { describe, expect, test } from "vitest";
import { readHtml } from "../../../../actors/reading/article/article.ts";

const NOW_MS = Date.UTC(2026, 10, 27);

interface Post {
  readonly by: string;
  readonly at: string;
  readonly body: string;
}

const POSTS: readonly Post[] = [
  {
    by: "pinewood",
    at: "2024-02-01 10:00",
    body: "<p>I have a cast iron pan from my grandmother that smells of fish, whatever I do with it.</p><p>Is there a way to get rid of it?</p>",
  },
  { by: "tom_k", at: "2024-02-01 11:12", body: "<p>Oven.</p>" },
  {
    by: "ironmary",
    at: "2024-02-02 08:30",
    body: "<aside class='quote'><blockquote><p>Oven.</p></blockquote></aside><p>For an hour, empty:</p><pre>preheat(200)\nwait(60)</pre>",
  },
  { by: "pinewood", at: "2024-02-04 19:01", body: "<p>I'm ready!!</p>" },
  { by: "old_hand", at: "2024-02-05 07:45", body: "<p>Salt works, too. Scrub it while it is warm.</p>" },
];

const post = ({
  by,
  at,
  body,
}: Post): string => `<div class="row"><div class="who"><b class="nick">${by}</b><span>Senior Member</span>
<dl><dt>Joined</dt><dd>May 2019</dd><dt>Messages</dt><dd>1,204</dd></dl></div><div class="cell"><div class="when">${at}</div>
<div class="msg">${body}</div><div class="signature">Life is short, and so is this line of mine about it.</div><div class="acts"><a href="#">Reply</a> <a href="#">Thanks</a></div></div></div>`;

const read = (
  posts: readonly Post[],
  url = "https://pans.example/forum/threads/smell.12/",
  below = "",
): string =>
  readHtml(
    `<html lang="en"><title>Pan smells of fish</title><body class="forum"><ul><li><a href="/">Home</a></li><li><a href="/new">New</a></li></ul>
<h1>Pan smells of fish</h1><div class="thread">${posts.map(post).join("")}</div>${below}</body></html>`,
    url,
    NOW_MS,
  ).text;

describe("a thread", () => {
  test("has every post, also the shortest, with quotations and code", () => {
    const text = read(POSTS);
    for (const said of [
      "smells of fish, whatever",
      "Is there a way",
      "Oven.",
      "For an hour",
      "wait(60)",
      "I'm ready!!",
      "Salt works",
    ])
      expect(text).toContain(said);
  });

  test("has neither signatures nor what is told of the authors", () => {
    const text = read(POSTS);
    for (const beside of ["Life is short", "Senior Member", "1,204", "Reply"])
      expect(text).not.toContain(beside);
  });

  test("has its last post as its first, however many there are", () => {
    const many = Array.from({ length: 60 }, (_, i) => ({
      by: `user_${i}`,
      at: `2024-03-${String((i % 28) + 1).padStart(2, "0")} 10:00`,
      body: `<p>Answer ${i}: it helped me, too.</p>`,
    }));
    const text = read([...POSTS, ...many]);
    expect(many.filter((_, i) => !text.includes(`Answer ${i}:`))).toEqual([]);
  });

  test("takes ages of posts for their dates", () => {
    const ages = ["3y", "2y", "2 years ago", "1y", "5mo"];
    const text = read(POSTS.map((each, i) => ({ ...each, at: ages[i]! })));
    expect(text).toContain("I'm ready!!");
  });
});

test("names of declared authors are no text of a thread without dates", () => {
  const said = POSTS.map(
    ({ by, body }) =>
      `<div itemprop="comment" class="answer"><span itemprop="author">${by}</span><div itemprop="text">${body}<p>It is an old pan, and I would not like to lose what is on it.</p></div></div>`,
  );
  const { text } = readHtml(
    `<html lang="en"><title>Pan smells of fish</title><body class="forum"><h1>Pan smells of fish</h1><div class="topic">${said.join("")}</div></body></html>`,
    "https://pans.example/forum/threads/smell.12/",
    NOW_MS,
  );
  expect(text).toContain("smells of fish, whatever");
  for (const { by } of POSTS) expect(text).not.toContain(by);
});

describe("consent to cookies", () => {
  const CONSENT = `<div id="onetrust-consent-sdk"><div class="ot-pc"><h2>About your privacy</h2><p>${"We and our partners store and read information on your device, such as cookies, to deliver content and to measure it. ".repeat(6)}</p>
<h3>Strictly necessary cookies</h3><p>These technologies are necessary for the website to function and cannot be switched off in our systems.</p></div></div>`;

  test("is no text of a short page, though it is longer than the text", () => {
    const text = read(POSTS.slice(0, 3), undefined, CONSENT);
    expect(text).toContain("smells of fish, whatever");
    expect(text).not.toContain("partners");
    expect(text).not.toContain("Strictly necessary");
  });

  test("is text where an article about it has no such dialog", () => {
    const { text } = readHtml(
      `<html lang="en"><title>Cookie policy</title><body><main class="cookie-policy"><h1>Cookie policy</h1><p>${"We and our partners store and read information on your device, such as cookies, to deliver content. ".repeat(4)}</p></main></body></html>`,
      "https://harbour.example/cookies",
      NOW_MS,
    );
    expect(text).toContain("partners");
  });
});
