/**
 * node bench/profiles-parse.bench.ts [rounds]: a profile page loaded and read, with the parser that the service uses
 * (htmlparser2) and with cheerio's default one (parse5), by the same provider. CPU of the process, medians; pages are
 * invented. `read_page_ms` is the whole task of a reader process, with its walls and the length of the text.
 */
import { load } from "cheerio";
import { type CheerioAPI, load as loadSlim } from "cheerio/slim";
import { northdata } from "../actors/sources/profiles/providers/northdata.ts";
import { readPage } from "../actors/sources/profiles/read-page.ts";
import { type InventedEvent, profilePage } from "../test/harness/profile-pages.ts";
import { machine } from "./harness.ts";

const ROUNDS = Number(process.argv[2] ?? 30);
const URL_OF_PAGE = "https://www.northdata.com/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345";

function madePage(entries: number): string {
  const each = (of: (n: number) => InventedEvent): InventedEvent[] =>
    Array.from({ length: entries }, (_, n) => of(n));
  return profilePage({
    name: "Kranwerk Muster GmbH",
    city: "Musterstadt",
    address: "Kranweg 7, D-99999 Musterstadt",
    purpose: "Bau und Wartung von Kranen. ".repeat(20),
    history: each((n) => ({
      type: "e",
      date: "2003-02-11",
      desc: `11.02.2003 Eintragung Nummer ${n}`,
      url: `/?id=${n}`,
    })),
    people: each((n) => ({
      type: "p",
      desc: `01.04.2019 Geschäftsführer Wilma Erfunden-${n}`,
      url: `/?id=${n}`,
    })),
    control: each((n) => ({ type: "m", desc: `20.08.2018 Verschmolzen: Südkran ${n} GmbH, Musterstadt` })),
    publications: Array.from({ length: entries }, (_, n) => ["03.05.2024", `Jahresabschluss ${n}`] as const),
    mentions: Array.from(
      { length: entries },
      (_, n) => ["15.02.2023", "Verschmelzung", `Südkran ${n} GmbH`] as const,
    ),
  });
}

function cpuOf(work: () => unknown): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
}

const rows = [3, 30, 300].map((entries) => {
  const text = madePage(entries);
  const whole = () => readPage(northdata, { kind: "page", text, url: URL_OF_PAGE });
  const slim = () => northdata.readProfile(loadSlim(text), URL_OF_PAGE);
  const parse5 = () => northdata.readProfile(load(text) as CheerioAPI, URL_OF_PAGE);
  for (const warm of [whole, slim, parse5]) for (let n = 0; n < 10; n++) warm();
  const [read_page_ms, slim_ms, parse5_ms] = [cpuOf(whole), cpuOf(slim), cpuOf(parse5)];
  return {
    entries,
    kilobytes: Math.round(text.length / 1_024),
    read_page_ms,
    htmlparser2_ms: slim_ms,
    parse5_ms,
    htmlparser2_to_parse5: slim_ms / parse5_ms,
  };
});
console.log(JSON.stringify({ machine: machine(), rounds: ROUNDS, rows }, null, 2));
