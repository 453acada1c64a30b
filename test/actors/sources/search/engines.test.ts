/** The adapters to a metasearch instance and to the fallback API, against real sockets that do everything wrong. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fallbackEngine } from "../../../../actors/sources/search/adapters/engine.fallback.ts";
import {
  instanceName,
  metasearchEngine,
} from "../../../../actors/sources/search/adapters/engine.metasearch.ts";
import type { Question } from "../../../../actors/sources/search/engine.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let handler: Handler = (_, response) => void response.end();
let asked: IncomingMessage[] = [];
const server = createServer((request, response) => {
  asked.push(request);
  handler(request, response);
});
let base = "";
let egress: UndiciEgress;
const clock = systemClock();

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // The address is private: only because an operator named it may it be asked.
  egress = undiciEgress({ judge: onlyTo(new URL(base)) });
});
afterAll(async () => {
  await egress.close();
  server.close();
  server.closeAllConnections();
});

const question: Question = {
  query: "tide mill",
  project: null,
  language: null,
  country: null,
  freshness: null,
  max_results: 20,
};
const engines = {
  metasearch: (url = base) => metasearchEngine({ egress, clock, url }),
  fallback: (key: string | null = "secret") =>
    fallbackEngine({ egress, clock, url: `${base}/res/v1/web/search`, key }),
};

const sending =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body));

async function ask(
  kind: keyof typeof engines,
  does: Handler,
  overrides: Partial<Question> = {},
  within_ms = 5_000,
) {
  handler = does;
  asked = [];
  const answer = await engines[kind]().ask({ ...question, ...overrides }, AbortSignal.timeout(within_ms));
  return { answer, urls: asked.map(({ url }) => new URL(url!, base)) };
}

const HTML = "<html><head><title>Welcome</title></head><body>Please log in</body></html>";
const WALL = `<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script></body></html>`;

describe.each(["metasearch", "fallback"] as const)("%s that goes wrong has a name", (kind) => {
  const cases: [what: string, does: Handler, reason: string][] = [
    ["answers 500", sending("oops", 500), "http_500"],
    ["answers 429", sending("", 429), "http_429"],
    ["answers 403", sending({ error: "no" }, 403), "http_403"],
    ["answers 401", sending("", 401), "http_401"],
    ["answers 204", (_, response) => void response.writeHead(204).end(), "http_204"],
    ["leads elsewhere", sending("", 302, { location: "https://elsewhere.example/?q=x" }), "http_302"],
    ["answers HTML", sending(HTML, 200, { "content-type": "text/html" }), "invalid_answer"],
    ["answers a wall", sending(WALL, 403, { "content-type": "text/html" }), "captcha"],
    ["answers nothing", sending(""), "invalid_answer"],
    ["answers half a JSON", sending('{"results": [{"url": "http'), "invalid_answer"],
    ["answers another JSON", sending({ hello: "world" }), "invalid_answer"],
    ["answers a JSON that is no object", sending([1, 2]), "invalid_answer"],
    ["answers results that are no list", sending({ results: "many", web: { results: 7 } }), "invalid_answer"],
    ["answers without end", (_, response) => flood(response), "invalid_answer"],
    [
      "calls it gzip and it is none",
      sending("nonsense", 200, { "content-encoding": "gzip" }),
      "invalid_answer",
    ],
    ["hangs up before the head", ({ socket }) => void socket.destroy(), "unreachable"],
    [
      "hangs up within the body",
      ({ socket }, response) => {
        response.writeHead(200, { "content-length": "1000" }).write("{");
        setTimeout(() => socket.destroy(), 20);
      },
      "unreachable",
    ],
    ["speaks no HTTP", ({ socket }) => void socket.end("SSH-2.0-OpenSSH_9.2\r\n"), "invalid_answer"],
  ];
  test.each(cases)("%s: %s", async (_, does, reason) => {
    const { answer } = await ask(kind, does);
    expect(answer).toMatchObject({ kind: "failed", reason });
  });

  test.each([
    ["does not answer", () => {}],
    [
      "stops within the body",
      (_: IncomingMessage, response: ServerResponse) => void response.writeHead(200).write("{"),
    ],
  ] as [string, Handler][])("%s: timeout", async (_, does) => {
    const { answer } = await ask(kind, does, {}, 300);
    expect(answer).toMatchObject({ kind: "failed", reason: "timeout" });
  });

  test("passes on Retry-After", async () => {
    const { answer } = await ask(kind, sending("", 429, { "retry-after": "120" }));
    expect(answer).toMatchObject({ reason: "http_429", retry_after_s: 120 });
  });

  test("never shows in its detail what was asked, or the key", async () => {
    const { answer } = await ask(kind, sending("", 302, { location: "/login?next=tide+mill&key=secret" }));
    expect(JSON.stringify(answer)).not.toMatch(/tide|secret/);
  });
});

test("a missing instance is unreachable", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  silent.close();
  await once(silent, "close");
  const engineEgress = undiciEgress({ judge: onlyTo(new URL(url)) });
  const answer = await metasearchEngine({ egress: engineEgress, clock, url }).ask(
    question,
    AbortSignal.timeout(5_000),
  );
  expect(answer).toMatchObject({ kind: "failed", reason: "unreachable" });
  await engineEgress.close();
});

test("what an operator named opens nothing else, not even a port beside it", async () => {
  let visits = 0;
  const neighbour = createServer((_, response) => {
    visits++;
    response.end('{"results": []}');
  }).listen(0, "127.0.0.1");
  await once(neighbour, "listening");
  const url = `http://127.0.0.1:${(neighbour.address() as AddressInfo).port}`;
  const ask_there = (engineEgress: UndiciEgress) =>
    metasearchEngine({ egress: engineEgress, clock, url }).ask(question, AbortSignal.timeout(5_000));
  expect(await ask_there(egress)).toMatchObject({ kind: "failed", reason: "unreachable" });
  expect(visits).toBe(0);
  // Named, it would have answered.
  const named = undiciEgress({ judge: onlyTo(new URL(url)) });
  expect(await ask_there(named)).toMatchObject({ kind: "answered" });
  await named.close();
  neighbour.close();
});

describe("a metasearch instance", () => {
  const PAGE = {
    query: "tide mill",
    project: null,
    results: [
      {
        url: "http://a.example/",
        title: "A",
        content: "About A",
        engine: "bing",
        engines: ["bing", "brave"],
        publishedDate: "2026-05-01T10:00:00",
        score: 2,
      },
      {
        url: "http://b.example/",
        title: "B",
        engine: "bing",
        publishedDate: "2 hours ago",
        pubdate: "2026-11-21 10:00:00+0000",
      },
      { title: "no address" },
      "no result",
      null,
    ],
    answers: [],
    unresponsive_engines: [
      ["google", "Suspended: CAPTCHA"],
      ["qwant", "timeout"],
      "startpage",
      [],
      null,
      [7],
    ],
  };

  test("is read as SearXNG and searx write it", async () => {
    const { answer } = await ask("metasearch", sending(PAGE));
    expect(answer).toEqual({
      kind: "answered",
      results: [
        {
          url: "http://a.example/",
          title: "A",
          snippets: ["About A"],
          engines: ["bing", "brave"],
          published: "2026-05-01T10:00:00",
        },
        {
          url: "http://b.example/",
          title: "B",
          snippets: [],
          engines: ["bing"],
          published: "2026-11-21 10:00:00+0000",
        },
      ],
      unresponsive: [
        { engine: "google", captcha: true },
        { engine: "qwant", captcha: false },
        { engine: "startpage", captcha: false },
      ],
      billed: 0,
    });
  });

  test("that found nothing is an answer", async () => {
    const { answer } = await ask("metasearch", sending({ results: [] }));
    expect(answer).toEqual({ kind: "answered", results: [], unresponsive: [], billed: 0 });
  });

  test.each([
    [{}, "q=tide+mill&format=json"],
    [{ language: "de" }, "q=tide+mill&format=json&language=de"],
    [{ language: "DE", country: "ch" }, "q=tide+mill&format=json&language=de-CH"],
    [{ language: "de-at", country: "CH" }, "q=tide+mill&format=json&language=de-AT"],
    [{ country: "CH" }, "q=tide+mill&format=json&language=de-CH"],
    [{ country: "pt" }, "q=tide+mill&format=json&language=pt-PT"],
    [{ country: "BR" }, "q=tide+mill&format=json&language=pt-BR"],
    [{ freshness: "week" }, "q=tide+mill&format=json&time_range=week"],
    [{ query: "a&b=c #d ü" }, "q=a%26b%3Dc+%23d+%C3%BC&format=json"],
  ] as [Partial<Question>, string][])("%j is asked as %s", async (overrides, search) => {
    const { urls } = await ask("metasearch", sending(PAGE), overrides);
    expect(urls.map((url) => `${url.pathname}${url.search}`)).toEqual([`/search?${search}`]);
  });

  test("is asked for more pages only when the question wants more, and not after the last page", async () => {
    const pages: Handler = (request, response) => {
      const pageno = Number(new URL(request.url!, base).searchParams.get("pageno") ?? 1);
      const results = pageno > 3 ? [] : [{ url: `http://a.example/${pageno}`, title: "t", engine: "e" }];
      sending({ results })(request, response);
    };
    expect((await ask("metasearch", pages, { max_results: 20 })).urls).toHaveLength(1);
    const { answer, urls } = await ask("metasearch", pages, { max_results: 100 });
    expect(urls.map(({ searchParams }) => searchParams.get("pageno"))).toEqual([null, "2", "3", "4"]);
    expect(answer).toMatchObject({ results: [{}, {}, {}] });
  });

  test("that fails on a later page keeps the results of the first", async () => {
    const once_only: Handler = (request, response) =>
      request.url!.includes("pageno")
        ? sending("", 500)(request, response)
        : sending(PAGE)(request, response);
    expect((await ask("metasearch", once_only, { max_results: 100 })).answer).toMatchObject({
      kind: "answered",
      results: [{}, {}],
    });
  });

  test.each([
    ["https://searx.example", "https://searx.example"],
    ["https://searx.example/", "https://searx.example"],
    ["https://searx.example/search", "https://searx.example"],
    ["https://searx.example/search/", "https://searx.example"],
    ["https://host.example/searxng/", "https://host.example/searxng"],
    ["http://user:secret@10.0.0.5:8888/", "http://10.0.0.5:8888"],
  ])("set up as %s is called %s", (configured, name) => {
    expect(instanceName(configured)).toBe(name);
  });

  test("behind basic authentication gets what its address carries", async () => {
    handler = sending(PAGE);
    asked = [];
    const url = base.replace("//", "//us%40er:p%3Aw@");
    await metasearchEngine({ egress, clock, url }).ask(question, AbortSignal.timeout(5_000));
    expect(asked[0]!.headers.authorization).toBe(`Basic ${Buffer.from("us@er:p:w").toString("base64")}`);
  });

  test("that answers 403 has a hint in its detail", async () => {
    const { answer } = await ask("metasearch", sending("", 403));
    expect(answer).toMatchObject({ detail: expect.stringContaining("search.formats") });
  });
});

describe("the fallback API", () => {
  const PAGE = {
    type: "search",
    query: { original: "tide mill", more_results_available: true },
    web: {
      results: [
        {
          url: "http://a.example/",
          title: "Tide &amp; <strong>Mill</strong>",
          description: "About <strong>A</strong> &#x27;n&#39; B &lt;x&gt;",
          extra_snippets: ["More of A", ""],
          page_age: "2026-05-01T10:00:00",
          age: "May 1, 2026",
        },
        { url: "http://b.example/", title: "B", age: "2 days ago" },
        { title: "no address" },
      ],
    },
  };

  test("is read as Brave writes it", async () => {
    const { answer } = await ask("fallback", sending(PAGE));
    expect(answer).toEqual({
      kind: "answered",
      results: [
        {
          url: "http://a.example/",
          title: "Tide & Mill",
          snippets: ["About A 'n' B <x>", "More of A"],
          engines: ["fallback_api"],
          published: "2026-05-01T10:00:00",
        },
        { url: "http://b.example/", title: "B", snippets: [], engines: ["fallback_api"], published: null },
      ],
      unresponsive: [],
      billed: 1,
    });
  });

  test.each([
    [{ type: "search", query: { original: "x" } }],
    [{ type: "search", web: null }],
    [{ type: "search", web: { results: [] } }],
  ])("without results answers %j", async (body) => {
    const { answer } = await ask("fallback", sending(body));
    expect(answer).toEqual({ kind: "answered", results: [], unresponsive: [], billed: 1 });
  });

  const ALWAYS = "text_decorations=false&extra_snippets=true";
  test.each([
    [{}, `q=tide+mill&count=20&${ALWAYS}`],
    [{ max_results: 5 }, `q=tide+mill&count=5&${ALWAYS}`],
    [{ freshness: "day" }, `q=tide+mill&count=20&freshness=pd&${ALWAYS}`],
    [{ freshness: "week" }, `q=tide+mill&count=20&freshness=pw&${ALWAYS}`],
    [{ freshness: "month" }, `q=tide+mill&count=20&freshness=pm&${ALWAYS}`],
    [{ freshness: "year" }, `q=tide+mill&count=20&freshness=py&${ALWAYS}`],
    [{ language: "DE-ch" }, `q=tide+mill&count=20&search_lang=de&country=CH&${ALWAYS}`],
    [{ language: "de", country: "at" }, `q=tide+mill&count=20&search_lang=de&country=AT&${ALWAYS}`],
    [{ query: "word ".repeat(90).trim() }, `q=${"word+".repeat(50).slice(0, -1)}&count=20&${ALWAYS}`],
    [{ query: `${"x".repeat(300)} ${"y".repeat(300)}` }, `q=${"x".repeat(300)}&count=20&${ALWAYS}`],
    [{ query: "x".repeat(500) }, `q=${"x".repeat(400)}&count=20&${ALWAYS}`],
  ] as [Partial<Question>, string][])("%j is asked as %s", async (overrides, search) => {
    const { urls } = await ask("fallback", sending({ ...PAGE, query: {} }), overrides);
    expect(urls.map((url) => `${url.pathname}${url.search}`)).toEqual([`/res/v1/web/search?${search}`]);
  });

  test("gets its key in a header field", async () => {
    await ask("fallback", sending(PAGE));
    expect(asked[0]!.headers["x-subscription-token"]).toBe("secret");
    handler = sending(PAGE);
    asked = [];
    await engines.fallback(null).ask(question, AbortSignal.timeout(5_000));
    expect(asked[0]!.headers["x-subscription-token"]).toBeUndefined();
  });

  test("gives each of its results once: pages have the same length, by which the offset counts", async () => {
    const every = Array.from({ length: 60 }, (_, n) => `http://a.example/${n}`);
    const paged: Handler = (request, response) => {
      const { searchParams } = new URL(request.url!, "http://x");
      const count = Number(searchParams.get("count"));
      const first = Number(searchParams.get("offset") ?? 0) * count;
      const results = every.slice(first, first + count).map((url) => ({ url, title: url }));
      const more_results_available = first + count < every.length;
      sending({ type: "search", query: { more_results_available }, web: { results } })(request, response);
    };
    for (const max_results of [5, 20, 30, 45]) {
      const { answer } = await ask("fallback", paged, { max_results });
      const urls = answer.kind === "answered" ? answer.results.map(({ url }) => url) : [];
      expect(urls.slice(0, max_results)).toEqual(every.slice(0, max_results));
    }
  });

  test("is asked for further pages while the question wants more, and each request is billed", async () => {
    const { answer, urls } = await ask("fallback", sending(PAGE), { max_results: 45 });
    expect(
      urls.map(({ searchParams }) => `${searchParams.get("count")} ${searchParams.get("offset")}`),
    ).toEqual(["20 null", "20 1", "20 2"]);
    expect(answer).toMatchObject({ billed: 3 });
    const last = { ...PAGE, query: { more_results_available: false } };
    expect((await ask("fallback", sending(last), { max_results: 45 })).answer).toMatchObject({ billed: 1 });
  });
});

function flood(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  const piece = Buffer.alloc(65_536, " ");
  const pour = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once("drain", pour);
  };
  pour();
}

describe("hosts that a search is kept to", () => {
  const page = (host: string, count: number) => ({
    results: Array.from({ length: count }, (_, n) => ({
      url: `http://${host}/${n}`,
      title: `${n}`,
      content: "x",
    })),
    unresponsive_engines: [],
  });

  test("stand in the query of an instance, which is asked for three pages when few are of them", async () => {
    const domains = { include_domains: ["a.example", "b.example"], exclude_domains: ["shop.a.example"] };
    const { urls } = await ask("metasearch", sending(page("c.example", 20)), domains);
    expect(urls.map(({ searchParams }) => searchParams.get("q"))).toEqual(
      Array(3).fill("tide mill (site:a.example OR site:b.example) -site:shop.a.example"),
    );
    const enough = await ask("metasearch", sending(page("www.a.example", 20)), domains);
    expect(enough.urls).toHaveLength(1);
  });

  test("stand whole behind a long query of the fallback", async () => {
    const query = "word ".repeat(120).trim();
    const { urls } = await ask("fallback", sending({ type: "search" }), {
      query,
      include_domains: ["a.example"],
    });
    const sent = urls[0]!.searchParams.get("q")!;
    expect(sent).toMatch(/^(?:word )+site:a\.example$/);
    expect(sent.split(" ").length).toBeLessThanOrEqual(50);
  });
});
