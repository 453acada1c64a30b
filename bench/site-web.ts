/**
 * node bench/site-web.ts PORT COUNT [SEED]: serves a synthetic site (`synthetic-site.ts`) at every address of 127/8, and counts what is asked of it.
 * GET /-/figures: the requests by what they are worth; POST /-/reset: none yet.
 */
import { App } from "uWebSockets.js";
import { type SiteFigures, syntheticSite, TRAP_SHAPES } from "./synthetic-site.ts";

const [port, count, seed] = [2, 3, 4].map((at) => Number(process.argv[at] ?? 1));
const site = syntheticSite(count!, seed!);
/** Whether each page was answered. */
const answered = new Uint8Array(site.slots);
const none = (): { -readonly [Name in keyof SiteFigures]: SiteFigures[Name] } => ({
  requests: 0,
  real: site.real,
  found: 0,
  duplicates: 0,
  near_duplicates: 0,
  redirects: 0,
  no_pages: 0,
  disallowed: 0,
  files: 0,
  traps: Object.fromEntries(TRAP_SHAPES.map((shape) => [shape, 0])),
});
let figures = none();

App()
  .get("/-/figures", (answer) => void answer.end(JSON.stringify(figures)))
  .post("/-/reset", (answer) => {
    answered.fill(0);
    figures = none();
    answer.end();
  })
  .get("/*", (answer, request) => {
    const query = request.getQuery();
    const target = `${request.getUrl()}${query ? `?${query}` : ""}`;
    const { worth, status, type, body, location } = site.answer(
      target,
      `http://${request.getHeader("host")}`,
    );
    figures.requests++;
    switch (worth.kind) {
      case "page":
        if (answered[worth.slot] === 0) figures.found++;
        else if (worth.by === "session") figures.traps["session"]!++;
        else figures.duplicates++;
        answered[worth.slot] = 1;
        break;
      case "trap":
        figures.traps[worth.trap]!++;
        break;
      case "near_duplicate":
        figures.near_duplicates++;
        break;
      case "redirect":
        figures.redirects++;
        break;
      case "no_page":
        figures.no_pages++;
        break;
      case "disallowed":
        figures.disallowed++;
        break;
      case "file":
        figures.files++;
        break;
    }
    answer.writeStatus(String(status)).writeHeader("Content-Type", type);
    if (location !== undefined) answer.writeHeader("Location", location);
    answer.end(body);
  })
  .listen("0.0.0.0", port!, (socket) => {
    if (!socket) throw new Error(`Cannot listen on port ${port}`);
  });
