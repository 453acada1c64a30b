/** Blocks of pages that services living at once fetch in turn, with the CPU time that each block costs its service. */
import { Agent } from "undici";
import { fetchPage, median, type Service } from "./harness.ts";
import { allOf, medianInterval, PARTS, type Spent, spentBy } from "./in-pairs.ts";

export interface PageVariant {
  readonly name: string;
  /** Services that get the requests in turn. */
  readonly services: readonly Pick<Service, "url" | "key">[];
  /** Processes whose CPU time counts, with those below them. */
  readonly pids: readonly number[];
  /** Kind of page of bench/web.ts. */
  readonly path: string;
  readonly at_once: number;
  /** Pages of a host. */
  readonly a_host: number;
}

export interface Blocks {
  readonly web_port: number;
  /** Pages of a block. */
  readonly pages: number;
  readonly rounds: number;
  /** Pages of each variant before the first block, for each of its processes. */
  readonly warm: number;
}

const WARM_AT_ONCE = 64;
const WARM_BLOCK = 300;

const agent = new Agent({ connections: 256 });
export const closeAgent = (): Promise<void> => agent.close();

const PATHS: Readonly<Record<string, string>> = { light: "l", bytes: "b", real: "p" };

export const pathOf = (kind: string): string => {
  const path = PATHS[kind];
  if (path === undefined)
    throw new Error(`Cannot measure "${kind}": one of ${Object.keys(PATHS).join(", ")}`);
  return path;
};

let next_host = 0;

const spentByAll = (pids: readonly number[]): Spent => {
  const all = pids.map((pid) => spentBy({ pid }));
  const [main, threads, processes] = PARTS.map((part) => all.reduce((sum, each) => sum + each[part], 0));
  return { main: main!, threads: threads!, processes: processes! };
};

/** Loopback hosts of bench/web.ts, by number. */
export const hostAddress = (host: number): string =>
  `127.${1 + Math.floor(host / 62_500)}.${1 + (Math.floor(host / 250) % 250)}.${1 + (host % 250)}`;

/** Fetches so many pages, on hosts that no earlier call asked. */
export async function fetchPages(
  { services, path, at_once, a_host }: Pick<PageVariant, "services" | "path" | "at_once" | "a_host">,
  web_port: number,
  pages: number,
): Promise<void> {
  const first_host = next_host;
  next_host += Math.ceil(pages / a_host);
  let next = 0;
  const fetchNext = async (): Promise<void> => {
    while (next < pages) {
      const n = next++;
      const address = hostAddress(first_host + Math.floor(n / a_host));
      const page = `http://${address}:${web_port}/${path}/${first_host * a_host + n}`;
      await fetchPage(services[n % services.length]!, agent, page);
    }
  };
  await Promise.all(Array.from({ length: at_once }, fetchNext));
}

/** For one page of a block. */
async function spentFor(variant: PageVariant, web_port: number, pages: number): Promise<Spent> {
  const before = spentByAll(variant.pids);
  await fetchPages(variant, web_port, pages);
  const after = spentByAll(variant.pids);
  const [main, threads, processes] = PARTS.map((part) => (after[part] - before[part]) / pages);
  return { main: main!, threads: threads!, processes: processes! };
}

/** Blocks of each variant in turn; the others are compared with the first variant. */
export async function compared(variants: readonly PageVariant[], { web_port, pages, rounds, warm }: Blocks) {
  const subjects = Map.groupBy(variants, ({ pids, path }) => `${pids.join()} ${path}`);
  for (let done = 0; done < warm; done += WARM_BLOCK)
    for (const [variant] of subjects.values())
      await spentFor({ ...variant!, at_once: WARM_AT_ONCE }, web_port, WARM_BLOCK * variant!.services.length);
  const spent = new Map<string, Spent[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const variant of round % 2 === 0 ? variants : variants.toReversed())
      spent.get(variant.name)!.push(await spentFor(variant, web_port, pages));
  const base = spent.get(variants[0]!.name)!;
  const shown = (ms: readonly number[]): number => Number(median(ms).toFixed(3));
  return variants.map(({ name }) => {
    const own = spent.get(name)!;
    return {
      name,
      ms_a_page: shown(own.map(allOf)),
      ...Object.fromEntries(PARTS.map((part) => [part, shown(own.map((each) => each[part]))])),
      ratio: medianInterval(own.map((each, n) => allOf(each) / allOf(base[n]!))),
    };
  });
}
