/**
 * node bench/web.ts PORT: a synthetic web for benches, rendered beforehand. Every address of 127/8 is a host of its
 * own; /robots.txt is 404. /p/N are the shared real pages where they are, else made ones; /k/N 100 pages of 8 KiB, /l/N
 * the same made different by their number, /s/N pages of one paragraph, /b/N 8 KiB of bytes without text; /never/N is not
 * answered. /seen are the pages /k of the last minutes, oldest first: [address of the host, Unix milliseconds of its arrival].
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { App } from "uWebSockets.js";

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
    const n = request.getParameter(0)!;
    const page = small[Number(n) % small.length]!;
    answer
      .writeHeader("Content-Type", "text/html; charset=utf-8")
      .end(`${page.toString()}<p>Page ${n.padStart(9, "0")}.</p>`);
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
