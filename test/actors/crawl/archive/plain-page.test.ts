/** Archived pages without scripts: which markup is left, and where its addresses lead. */
import { expect, test } from "vitest";
import { plainCss, plainHtml } from "../../../../actors/crawl/archive/replay/plain-page.ts";

const page = new URL("https://island.example/a/b?c=1");
const placeOf = ({ href }: URL): string => `/replay/T/${href}`;
const plain = (html: string): string => plainHtml(html, page, placeOf);

test.each([
  ["a relative link", '<a href="../../../c">x</a>', '<a href="/replay/T/https://island.example/c">x</a>'],
  [
    "an entity in a link",
    "<a href='/s?a=1&amp;b=2#d'>",
    '<a href="/replay/T/https://island.example/s?a=1&amp;b=2#d">',
  ],
  ["a link within the page", '<a href="#top">', '<a href="#top">'],
  ["a link of another scheme", '<a href="javascript:alert(1)" id=i>', '<a id="i">'],
  ["a link with a line break in its scheme", '<a href=" java\nscript:alert(1)">', "<a>"],
  [
    "a window of its own",
    '<a href="/" target="_blank" ping="/p">',
    '<a href="/replay/T/https://island.example/">',
  ],
  ["a script", "a<script>if (1 < 2) '</p>'</script>b<script src=x></script>c", "abc"],
  ["a handler", '<p onclick="x()" OnLoad=y>t</p>', "<p>t</p>"],
  ["a frame with content", '<iframe src="/f"><p>in</p></iframe>z', "z"],
  ["an embedded object with another in it", "<object data=/o><embed src=/e><p>in</p></object>z", "z"],
  [
    "a form",
    '<form action="/send"><button formaction="/x">s</button></form>',
    "<form><button>s</button></form>",
  ],
  [
    "a turn to another page",
    '<meta http-equiv="refresh" content="0;url=/x"><meta name="a" content="b">',
    '<meta name="a" content="b">',
  ],
  [
    "a link element",
    '<link rel="preconnect" href="//cdn.example"><link rel="stylesheet" href="s.css" integrity="sha256-x" crossorigin>',
    '<link rel="stylesheet" href="/replay/T/https://island.example/a/s.css">',
  ],
  [
    "a base",
    '<base href="/deep/"><base href="/other/"><img src="i.png">',
    '<img src="/replay/T/https://island.example/deep/i.png">',
  ],
  [
    "images by size",
    '<img srcset="a.png 1x, /b.png 2x">',
    '<img srcset="/replay/T/https://island.example/a/a.png 1x, /replay/T/https://island.example/b.png 2x">',
  ],
  ["an image as data", '<img src="data:image/gif;base64,R0lG">', '<img src="data:image/gif;base64,R0lG">'],
  [
    "a style sheet within",
    "<style>p{background:url(/i.png)}</style>",
    "<style>p{background:url(/replay/T/https://island.example/i.png)}</style>",
  ],
  [
    "a style attribute",
    `<p style="background:url('i.png')">`,
    `<p style="background:url('/replay/T/https://island.example/a/i.png')">`,
  ],
  ["a doctype and a comment", "<!DOCTYPE html><!-- <b> -->t", "<!DOCTYPE html>t"],
  [
    "what scripts would replace",
    "<noscript><img src=/n.png></noscript>",
    '<noscript><img src="/replay/T/https://island.example/n.png"></noscript>',
  ],
  ["a quote in an attribute", `<p title='say "x" & <y>'>`, '<p title="say &quot;x&quot; &amp; &lt;y&gt;">'],
  ["text with markup's signs", "a &lt; b &amp; c", "a &lt; b &amp; c"],
  ["an element without its end", "<p>a<div", "<p>a"],
])("of %s", (_, html, expected) => {
  expect(plain(html)).toBe(expected);
});

test("style sheets load archived files, and leave data as it is", () => {
  const css = `@import "m.css"; @import url(n.css); a{b:url( "x.png" )} c{d:url(data:image/png;base64,AA)} e{f:url("g(1).png")}`;
  expect(plainCss(css, page, placeOf)).toBe(
    `@import "/replay/T/https://island.example/a/m.css"; @import url(/replay/T/https://island.example/a/n.css); a{b:url( "/replay/T/https://island.example/a/x.png" )} c{d:url(data:image/png;base64,AA)} e{f:url("/replay/T/https://island.example/a/g(1).png")}`,
  );
});

test("a page of many open elements takes linear time", () => {
  const deep = (count: number): number => {
    const html = "<a><b>".repeat(count) + "</i>".repeat(count);
    const began = process.cpuUsage();
    plain(html);
    const { user, system } = process.cpuUsage(began);
    return user + system;
  };
  deep(10_000);
  expect(deep(200_000)).toBeLessThan(40 * Math.max(deep(20_000), 5_000));
});
