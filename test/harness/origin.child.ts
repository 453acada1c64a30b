/**
 * A web in a process of its own, so that its times of arrival are not late because the test is busy. test/harness/chaos.ts
 * starts it and sends over IPC which sites to serve, then asks what arrived.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { article, prose, type Site, web } from "./web.ts";

/** Sites to play: each page is another article, and takes so long. */
export interface Play {
  readonly sites: readonly number[];
  readonly takes_ms: number;
}

export interface ServedSites {
  readonly dns: string;
  readonly origins: readonly string[];
}

/** By site, in order: when (Unix milliseconds) and what was asked for. */
export type Arrivals = readonly (readonly (readonly [at_ms: number, path: string])[])[];

/** Title by which a page is known. */
export const titleOf = (site: number, page: number): string => `Article ${page} of site ${site}`;

if (process.argv[2] === "play") {
  const tell = (message: ServedSites | Arrivals): void => void process.send!(message);
  const sites = await web();
  let playing: readonly Site[] = [];
  process.on("message", (play: Play | "seen" | "end") => {
    if (play === "end") return void sites.close().then(() => process.disconnect());
    if (play === "seen")
      return tell(
        playing.map(({ arrivals }) =>
          arrivals.map(({ at_ms, path }) => [performance.timeOrigin + at_ms, path] as const),
        ),
      );
    playing = play.sites.map((_, site) =>
      sites.site({
        "*": async ({ path }) => {
          await sleep(play.takes_ms);
          const title = titleOf(site, Number(path.slice(1)));
          return { body: article(title, `${title}. ${prose(12, `harbour ${site}`)}`) };
        },
      }),
    );
    return tell({ dns: sites.dns, origins: playing.map(({ origin }) => origin) });
  });
}
