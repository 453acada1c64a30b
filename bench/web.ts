/**
 * node bench/web.ts PORT: a synthetic web for benches, rendered beforehand. Every address of 127/8 is a host of its
 * own; /robots.txt is 404. /p/N are the shared real pages where they are, else made ones; /k/N 100 pages of 8 KiB, /l/N
 * the same made different by their number, /m/N the two mixed with slow answers, walls and large pages by their number (`mixed-web.ts`),
 * /s/N pages of one paragraph, /site/COUNT/N the COUNT pages of a site, each of which links to three others and its home, /b/N 8 KiB of bytes without text; /never/N is not
 * answered. A whole site with its traps is `site-web.ts`. /seen are the pages /k of the last minutes, oldest first: [address of the host, Unix milliseconds of its arrival].
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { App } from "uWebSockets.js";
import { mixedKind, SLOW_MS } from "./mixed-web.ts";

const FOLDERS = ["../shared/fixtures/pages/wcxb/html", "../shared/fixtures/pages/articles/html"];

const sentence = (seed: number): string =>
  `In the year ${1_000 + (seed % 900)} the ${["harbour", "market", "bridge", "archive"][seed % 4]} of the old town was described by ${seed % 97} travellers, none of whom agreed. `;
const made = (seed: number, bytes: number): Buffer => {
  let body = "";
  for (let part = 0; body.length < bytes - 600; part++)
    body += `<p>${sentence(seed * 31 + part).repeat(2)}</p>`;
  const links = Array.from({ length: 10 }, (_, link) => `<a href="/k/${link}">Page ${link}</a>`).join(" ");
  return Buffer.from(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page ${seed}</title></head><body><nav>${links}</nav><article><h1>Page ${seed}</h1>${body}</article></body></html>`,
  );
};

const real = FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) =>
  readdirSync(folder)
    .toSorted()
    .map((name) => gunzipSync(readFileSync(`${folder}/${name}`))),
);
const pages = real.length > 0 ? real : Array.from({ length: 100 }, (_, seed) => made(seed, 40_000));
const small = Array.from({ length: 100 }, (_, seed) => made(seed, 8_192));
const tiny = Array.from({ length: 100 }, (_, seed) => made(seed, 601));
const MAX_SEEN = 100_000;
const seen: [string, number][] = [];
const large = made(0, 1_000_000);
const wall = Buffer.from(
  `<!doctype html><html><head><title>Just a moment...</title></head><body><div id="challenge-form">Checking your browser before accessing the site.</div></body></html>`,
);
const numbered = (page: Buffer, n: number): Buffer =>
  Buffer.concat([page, Buffer.from(`<p>Page ${String(n).padStart(9, "0")}.</p>`)]);
const light = (n: number): Buffer => numbered(small[n % small.length]!, n);
/** Nothing to read: 8 KiB that differ in their number. */
const bytes = Buffer.alloc(8_192, 0xfe);

App()
  .get("/robots.txt", (answer) => void answer.writeStatus("404 Not Found").end())
  .get("/count", (answer) => void answer.end(JSON.stringify({ pages: pages.length, real: real.length })))
  .get("/seen", (answer) => void answer.end(JSON.stringify(seen)))
  .get("/p/:n", (answer, request) => {
    const page = pages[Number(request.getParameter(0)) % pages.length]!;
    answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(page);
  })
  .get("/k/:n", (answer, request) => {
    if (seen.length === MAX_SEEN) seen.shift();
    seen.push([request.getHeader("host").split(":")[0]!, Date.now()]);
    const page = small[Number(request.getParameter(0)) % small.length]!;
    answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(page);
  })
  .get("/l/:n", (answer, request) => {
    const page = light(Number(request.getParameter(0)));
    answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(page);
  })
  .get("/m/:n", (answer, request) => {
    const n = Number(request.getParameter(0));
    const kind = mixedKind(n);
    if (kind === "wall") answer.writeStatus("403 Forbidden");
    if (kind === "slow") {
      let isOpen = true;
      answer.onAborted(() => (isOpen = false));
      setTimeout(() => {
        if (!isOpen) return;
        answer.cork(() => answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(light(n)));
      }, SLOW_MS);
      return;
    }
    const page = {
      wall: () => wall,
      large: () => numbered(large, n),
      real: () => pages[n % pages.length]!,
      light: () => light(n),
    }[kind]();
    answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(page);
  })
  .get("/site/:count/:n", (answer, request) => {
    const [count, n] = [Number(request.getParameter(0)), Number(request.getParameter(1))];
    const links = [2 * n + 1, 2 * n + 2, (n * 7_919) % count, 0].filter((page) => page < count);
    const nav = links.map((page) => `<a href="/site/${count}/${page}">${page}</a>`).join(" ");
    const page = light(n).toString().replace("</article>", `<p>${nav}</p></article>`);
    answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(n < count ? page : "");
  })
  .get("/b/:n", (answer, request) => {
    const n = Number(request.getParameter(0));
    bytes.writeUInt32LE(n);
    answer.writeHeader("Content-Type", "application/octet-stream").end(bytes);
  })
  .get("/s/:n", (answer, request) => {
    const page = tiny[Number(request.getParameter(0)) % tiny.length]!;
    answer.writeHeader("Content-Type", "text/html; charset=utf-8").end(page);
  })
  // Takes a request and never answers.
  .get("/never/:n", (answer) => void answer.onAborted(() => {}))
  .listen("0.0.0.0", Number(process.argv[2]), (socket) => {
    if (!socket) throw new Error(`Cannot listen on port ${process.argv[2]}`);
  });
