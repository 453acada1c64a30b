/**
 * Searches and filings in a run of chaos (chaos.ts), beside its fetches: a metasearch instance and a filing system on loopback
 * answer each query and each document with its own name, and record what they were asked.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { FetchResponse } from "../../schemas/fetch.ts";
import type { SearchAnswer } from "../../schemas/search.ts";
import { type ChaosClient, insist } from "./chaos-client.ts";
import { edgar } from "./edgar.ts";

/** A search or a document of the filing system that a client wants. */
interface Lookup {
  readonly name: string;
  asked_ms: number;
  /** 0: never. */
  answered_ms: number;
}

/** When the fault began and was over, in Unix milliseconds. */
export interface FaultSpan {
  readonly from_ms: number;
  readonly to_ms: number;
}

export interface Lookups {
  readonly environment: Readonly<Record<string, string>>;
  readonly run: (client: ChaosClient) => Promise<void>;
  /** How many were answered, and how many there were. */
  readonly answered: () => readonly [answers: number, of: number];
  /** Invariants that did not hold, as sentences. */
  readonly problems: (span: FaultSpan) => readonly string[];
  readonly close: () => Promise<void>;
}

const SEARCHES = 60;
const DOCUMENTS = 60;
const CLIENTS = 4;
const FOLDER = "/Archives/edgar/data/9000001/000900000124000007/";
/** The filing system's own limit; the service stays below it. */
const MAX_A_SECOND = 10;
const RESULTS = 5;

const titleOf = (query: string, n: number): string => `Result ${n} of ${query}`;

export async function lookups(): Promise<Lookups> {
  const queries: string[] = [];
  const instance = createServer((request, response) => {
    const query = new URL(request.url!, "http://localhost").searchParams.get("q") ?? "";
    queries.push(query);
    const results = Array.from({ length: RESULTS }, (_, n) => ({
      url: `http://results.example/${encodeURIComponent(query)}/${n}`,
      title: titleOf(query, n),
      content: `About ${query}`,
      engines: ["one"],
    }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ query, results, unresponsive_engines: [] }));
  }).listen(0, "127.0.0.1");
  await once(instance, "listening");
  const { port } = instance.address() as AddressInfo;
  const filings = await edgar();

  const newLookups = (count: number, nameOf: (n: number) => string): Lookup[] =>
    Array.from({ length: count }, (_, n) => ({ name: nameOf(n), asked_ms: 0, answered_ms: 0 }));
  const searches = newLookups(SEARCHES, (n) => `harbour light ${n}`);
  const documents = newLookups(DOCUMENTS, (n) => `${FOLDER}many-${n}.htm`);
  const all = [...searches, ...documents];
  for (const { name } of documents)
    filings.serve("www", name, `<p>The document ${name}</p>`, { type: "text/html" });

  async function search(client: ChaosClient, { name: query }: Lookup): Promise<boolean> {
    const answer = await insist<SearchAnswer>(client, {
      path: "/v1/search",
      body: { query },
      isBilled: true,
      problemOf: ({ error }) => error,
    });
    if (answer !== null && answer.results[0]?.title !== titleOf(query, 0))
      throw new Error(`The search for "${query}" found ${JSON.stringify(answer.results[0])}`);
    return answer !== null;
  }

  async function read(client: ChaosClient, { name: path }: Lookup): Promise<boolean> {
    const answer = await insist<FetchResponse>(client, {
      path: "/v1/fetch",
      body: { url: filings.urls.www + path },
      isBilled: true,
      problemOf: ({ error }) => error,
    });
    if (answer !== null && !answer.text?.includes(path))
      throw new Error(`The document "${path}" says ${JSON.stringify(answer.text)}`);
    return answer !== null;
  }

  async function work(queue: Lookup[], ask: (one: Lookup) => Promise<boolean>): Promise<void> {
    for (let next = queue.pop(); next; next = queue.pop()) {
      next.asked_ms = Date.now();
      if (await ask(next)) next.answered_ms = Date.now();
    }
  }

  const repeatedOf = (asked: readonly string[]): number => asked.length - new Set(asked).size;

  return {
    environment: { ...filings.environment, TRAWL_SEARXNG_URLS: `http://127.0.0.1:${port}/` },
    async run(client) {
      const [wantedSearches, wantedDocuments] = [[...searches], [...documents]];
      await Promise.all(
        Array.from({ length: CLIENTS }, async () => {
          await Promise.all([
            work(wantedSearches, (one) => search(client, one)),
            work(wantedDocuments, (one) => read(client, one)),
          ]);
        }),
      );
    },
    answered: () => [all.filter(({ answered_ms }) => answered_ms > 0).length, all.length],
    problems({ from_ms, to_ms }) {
      const asked = filings.starts.map(({ path }) => path).filter((path) => path.startsWith(FOLDER));
      // Under way at a moment of the fault.
      const exposed = all.filter(
        ({ asked_ms, answered_ms }) => asked_ms <= to_ms && (answered_ms === 0 || answered_ms > from_ms),
      ).length;
      const repeated = repeatedOf(queries) + repeatedOf(asked);
      const worst = filings.worstSecond();
      return [
        ...all.filter(({ answered_ms }) => answered_ms === 0).map(({ name }) => `no answer for "${name}"`),
        ...(repeated <= exposed
          ? []
          : [`${repeated} lookups were sent again, and ${exposed} were under way`]),
        ...(worst <= MAX_A_SECOND ? [] : [`the filing system had ${worst} requests in a second`]),
      ];
    },
    async close() {
      instance.closeAllConnections();
      instance.close();
      await filings.close();
    },
  };
}
