/**
 * The profile site on loopback: invented companies on two domains, reached through a real forward proxy (tinyproxy) and a
 * small rendering service. What came by which way is in the header fields of its arrivals.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "./free-port.ts";
import { inventedGraph, type InventedCompany, profilePage } from "./profile-pages.ts";
import { findProgram, program } from "./programs.ts";
import type { Environment } from "./service.ts";
import { type Arrival, CHALLENGE, type Page, type Site, type Web } from "./web.ts";

/** A company of the site, at its path. */
export type Companies = Readonly<Record<string, InventedCompany>>;

export const COMPANIES: Companies = {
  "/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345": {
    name: "Kranwerk Muster GmbH",
    city: "Musterstadt",
    token: "t-1",
    former_names: ["Kranbau Muster GmbH"],
    identifiers: [["Lei", "Global Legal Entity Identifier Foundation", "9999000SYNTHETIC0113"]],
    address: "Kranweg 7, D-99999 Musterstadt",
    purpose: "Bau und Wartung von Kranen.",
    industry: ["28.22.0", "Herstellung von Hebezeugen"],
    history: [{ type: "e", date: "2003-02-11", desc: "11.02.2003 Eintragung", text: "Eintragung" }],
    people: [{ type: "p", desc: "15.01.2012 - 31.03.2019 Geschäftsführer Ada Erfunden", old: true }],
    control: [{ type: "c", desc: "03.03.2021 Beherrschung: Nordkran AG, Zug", url: "/?id=302" }],
    publications: [["03.05.2024", "Jahresabschluss zum 31.12.2022"]],
  },
  "/Klippe+Probe+AG,+Zug/CHE-123.456.789": {
    name: "Klippe Probe AG",
    city: "Zug",
    register: "CHE-123.456.789",
    mark: "in Liquidation",
    language: "en",
    entity_id: null,
  },
};
/** Shows its pages to browsers only. */
const GUARDED = "/Klippe";

const RENDERED = "x-rendered-by";

export interface ProfileSite {
  /** Both domains, the canonical one first. */
  readonly sites: readonly [Site, Site];
  /** Requests in hand, on both domains together. */
  readonly in_hand: { now: number; most: number };
  /** Settings that point a service at the site. */
  readonly environment: Environment;
  readonly close: () => Promise<void>;
}

/** Null where there is no tinyproxy. */
export async function profileSite(
  web: Web,
  companies: Companies = COMPANIES,
  takes_ms = 0,
): Promise<ProfileSite | null> {
  const tinyproxy = findProgram("tinyproxy");
  if (tinyproxy === null) return null;
  const in_hand = { now: 0, most: 0 };
  const answer = async (page: Page): Promise<Page> => {
    in_hand.most = Math.max(in_hand.most, ++in_hand.now);
    await sleep(takes_ms);
    in_hand.now--;
    return page;
  };
  const pages = {
    "/robots.txt": () => answer(ROBOTS),
    "*": (arrival: Arrival) => answer(pageOf(companies, arrival)),
  };
  const sites = [web.site(pages, "profiles-com"), web.site(pages, "profiles-de")] as const;

  const folder = mkdtempSync(join(tmpdir(), "trawl-profiles-"));
  const port = await freePort();
  // tinyproxy asks the system's name server, which does not know these sites.
  const settings = [
    `Port ${port}`,
    "Listen 127.0.0.1",
    "LogLevel Critical",
    `Upstream http 127.0.0.1:${web.port}`,
  ];
  writeFileSync(join(folder, "tinyproxy.conf"), `${settings.join("\n")}\n`);
  const proxy = await program(tinyproxy, ["-d", "-c", join(folder, "tinyproxy.conf")], port);
  const renderer = await renderingService(web);
  return {
    sites,
    in_hand,
    environment: {
      TRAWL_PROFILES: "on",
      TRAWL_PROFILES_HOSTS: sites.map(({ host }) => host).join(","),
      TRAWL_PROFILES_URL: sites[0].origin,
      TRAWL_PROXY_URL: `http://user-{session}:secret@127.0.0.1:${port}`,
      TRAWL_RENDER_URL: renderer.url,
    },
    async close() {
      renderer.close();
      await proxy.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const ROBOTS: Page = { type: "text/plain", body: "User-agent: *\nDisallow: /_login\nDisallow: /Verboten\n" };

function pageOf(companies: Companies, { path, headers }: Arrival): Page {
  const url = new URL(path, "http://any.example");
  if (url.pathname === "/suggest.json") return suggestions(companies, url.searchParams.get("query") ?? "");
  if (url.pathname === "/data.json")
    return { type: "application/json", body: JSON.stringify(inventedGraph("Kranwerk Muster GmbH")) };
  if (url.pathname.startsWith(GUARDED) && headers[RENDERED] === undefined) return CHALLENGE;
  const company = companies[url.pathname];
  if (!company) return { status: 404, body: "<title>Not here</title>" };
  const etag = '"v1"';
  if (headers["if-none-match"] === etag) return { status: 304 };
  return { headers: { ETag: etag }, body: profilePage(company) };
}

function suggestions(companies: Companies, query: string): Page {
  const [first = ""] = query.toLowerCase().split(" ");
  const results = Object.entries(companies)
    .filter(([, { name }]) => name.toLowerCase().startsWith(first))
    .map(([url, { name }]) => ({ name, url, type: "company" }));
  return { type: "application/json", body: JSON.stringify({ results }) };
}

/** POST {url} is answered with {status, html, final_url}; data is shown as a browser shows it. */
async function renderingService(web: Web): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((asked, response) => {
    const pieces: Buffer[] = [];
    asked.on("data", (piece: Buffer) => pieces.push(piece));
    asked.on("end", () => {
      const { url } = JSON.parse(Buffer.concat(pieces).toString()) as { url: string };
      void render(web, url).then((rendered) => response.end(JSON.stringify(rendered)));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() };
}

async function render(web: Web, url: string) {
  const { host, pathname, search } = new URL(url);
  const answer = await request(`http://127.0.0.1:${web.port}${pathname}${search}`, {
    headers: { host, [RENDERED]: "a browser" },
  });
  const text = await answer.body.text();
  const isPage = String(answer.headers["content-type"]).startsWith("text/html");
  const shown = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const html = isPage ? text : `<html><body><pre>${shown}</pre></body></html>`;
  return { status: answer.statusCode, html, headers: {}, final_url: url, difficulty: "low" };
}
