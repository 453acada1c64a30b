/** Agents' tools with the protocol's official client: over HTTP in both of its eras, and on standard input and output. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Edgar, edgar } from "../harness/edgar.ts";
import { programWords } from "../harness/program-words.ts";
import { scenario } from "../harness/scenario.ts";
import { type Service, SETUPS } from "../harness/service.ts";
import { article, prose } from "../harness/web.ts";

interface ToolText {
  readonly text: string;
  readonly facts: Record<string, any>;
  readonly isError: boolean;
}

/** How a client reaches the tools. */
interface Way {
  readonly way: string;
  readonly connect: (service: Service, key?: string) => Promise<Client>;
}

const run = promisify(execFile);
/** Installed by .ci/run. */
const INSPECTOR = "/opt/mcp-inspector/node_modules/.bin/mcp-inspector";

const about = { name: "scenario", version: "1" };
const overHttp =
  (options: object) =>
  async (service: Service, key: string = service.key) => {
    const client = new Client(about, options);
    const headers = { authorization: `Bearer ${key}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }),
    );
    return client;
  };
const WAYS: readonly Way[] = [
  { way: "over HTTP", connect: overHttp({ versionNegotiation: { mode: "auto" } }) },
  { way: "over HTTP as in 2025", connect: overHttp({}) },
  {
    way: "on standard input and output",
    async connect(service, key = service.key) {
      const client = new Client(about);
      const args = [...programWords(), "mcp", "--url", service.url, "--key", key];
      await client.connect(
        new StdioClientTransport({ command: process.execPath, args, env: {}, stderr: "ignore" }),
      );
      return client;
    },
  },
];

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  options?: object,
): Promise<ToolText> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args }, options);
  const texts = (content as { text: string }[]).map(({ text }) => text);
  return {
    text: texts.join("\n"),
    facts: (structuredContent ?? {}) as Record<string, any>,
    isError: isError === true,
  };
}

describe.each(SETUPS)("agents' tools, $setup", ({ start, setup }) => {
  let filings: Edgar | null = null;
  const { sites, service } = scenario(start, async () => {
    filings = await edgar();
    return { ...filings.environment, TRAWL_FILINGS_IDENTITY: "Company name contact@company.com" };
  });
  afterAll(async () => filings?.close());

  describe.each(WAYS)("$way", ({ connect }) => {
    let client: Client;
    beforeAll(async () => (client = await connect(service)));
    afterAll(async () => client.close());

    test("a page is read in parts that make up the whole, each with its source", async () => {
      const site = sites.site({
        "/": { body: article("Tides", Array.from({ length: 30 }, () => `<p>${prose(3)}</p>`).join("")) },
      });
      const whole = (await service.fetch({ url: `${site.origin}/`, formats: ["markdown"] })) as unknown as {
        markdown: string;
      };
      const parts: string[] = [];
      let told = await call(client, "fetch", { url: `${site.origin}/`, max_tokens: 500 });
      for (;;) {
        expect(told).toMatchObject({ isError: false });
        expect(told.text).toContain(`Source: ${site.origin}/`);
        parts.push(told.text.replace(/^Source: .*\n\n/, "").replace(/\n\n---\n\[Cut here[^]*$/, ""));
        const { cursor } = told.facts as { cursor: string | null };
        if (cursor === null) break;
        expect(told.text).toContain(cursor);
        told = await call(client, "read_more", { cursor, max_tokens: 500 });
      }
      expect(parts.length).toBeGreaterThan(2);
      expect(parts.join("\n\n")).toBe(whole.markdown);
      expect(site.arrivals.filter(({ path }) => path === "/")).toHaveLength(1);
    });

    test("a page that has changed meanwhile is not joined to its old beginning", async () => {
      let words = 40;
      const site = sites.site({
        "/": () => ({
          body: article("Now", `<p>${prose(words++)}</p>`),
          headers: { "cache-control": "no-store" },
        }),
      });
      const first = await call(client, "fetch", { url: `${site.origin}/`, max_tokens: 300 });
      const second = await call(client, "read_more", { cursor: first.facts["cursor"] });
      expect(second).toMatchObject({ isError: true, facts: { error: "changed" } });
      expect(second.text).toContain("Call fetch again");
    });

    test("what goes wrong says what to try", async () => {
      const site = sites.site({
        "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /" },
        "/": { body: article("No") },
      });
      const closed = await call(client, "fetch", { url: `${site.origin}/` });
      expect(closed).toMatchObject({ isError: true, facts: { error: "robots_disallowed" } });
      expect(closed.text).toContain("another site");
      const wrong = await call(client, "search", { query: "tides", max_results: 1000 });
      expect(wrong.text).toContain("max_results");
      const unknown = await call(client, "fetch", { address: "x" });
      expect(unknown.text).toContain("The arguments are url");
      const forged = await call(client, "read_more", { cursor: "x" });
      expect(forged.text).toContain("no cursor");
      const job = await call(client, "job", { job_id: "019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41" });
      expect(job).toMatchObject({ isError: true, facts: { error: "http_404" } });
      await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toThrow('no tool "nothing"');
    });

    test("a site is listed, a query searched", async () => {
      const site = sites.site({ "/": { body: article("Home") }, "/robots.txt": { status: 404 } });
      const map = await call(client, "map_site", { url: site.origin });
      expect(map.text).toContain(`${site.origin}/about`);
      expect(map.facts).toMatchObject({ truncated: false });
      const found = await call(client, "search", { query: "when was the lighthouse lit" });
      // On a cluster of the tests no metasearch instance answers: the tool says so.
      const isSaid = found.isError ? found.text.includes("Try again") : Array.isArray(found.facts["results"]);
      expect(isSaid).toBe(true);
    });

    test("filings are listed, searched and read", async () => {
      const list = await call(client, "filings", { ticker: "HLI", forms: ["10-K"] });
      expect(list.text).toContain("Harbour Lights Inc.");
      const [{ accession, primary_document }] = list.facts["filings"] as [Record<string, string>];
      const read = await call(client, "filing_document", {
        cik: "9000001",
        accession,
        document: primary_document,
      });
      expect(read.text).toContain("Source: http");
      expect(read.isError).toBe(false);
      const index = await call(client, "filing_document", { cik: "9000001", accession });
      expect(index.facts["documents"]).toContain(primary_document);
      const hits = await call(client, "filings", { query: "lamps OR lights", forms: ["10-K"] });
      expect(hits.facts["hits"]).not.toEqual([]);
      const nobody = await call(client, "filings", { ticker: "NOBODY" });
      expect(nobody).toMatchObject({ isError: true, facts: { error: "unknown_identifier" } });
    });

    test("a company that no register knows is said to be unknown", async () => {
      const told = await call(client, "resolve_company", { name: "Nobody at all", country: "AQ" });
      expect(told.facts).toMatchObject({ match: null });
      expect(await call(client, "company", { ref: "cmp_0000000000000000" })).toMatchObject({ isError: true });
    });

    test("a job is waited for, with progress, and its results are read", async () => {
      const shown = Promise.withResolvers<void>();
      const site = sites.site({ "/": () => shown.promise.then(() => ({ body: article("One") })) });
      const { json } = await service.call("POST", "/v1/batch/fetch", {
        body: { idempotency_key: `job ${Math.random()}`, items: [{ url: `${site.origin}/` }] },
      });
      const notices: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => {
        notices.push(progress);
        shown.resolve();
      };
      const told = await call(client, "job", { job_id: json.job_id, wait_s: 50 }, { onprogress });
      expect(told.facts).toMatchObject({ status: "completed", counts: { done: 1 } });
      expect(told.text).toContain("One");
      expect(notices[0]).toBe(1);
      expect(notices).toEqual([...notices].toSorted((a, b) => a - b));
    });

    test("the parts of a page are read that selectors name, and a selector that is none is named", async () => {
      const body = article("Lamps").replace("</body>", `<b class="price">24.50</b></body>`);
      const { origin } = sites.site({ "/": { body } });
      const url = `${origin}/`;
      const told = await call(client, "fetch", {
        url,
        include_selectors: [".price", "h1"],
        exclude_selectors: ["h1"],
      });
      expect(told.text).toMatch(/\n\n\*\*24\.50\*\*$/);
      expect((await call(client, "fetch", { url, only_main_content: false })).text).toContain("24.50");
      const wrong = await call(client, "fetch", { url, include_selectors: ["p::before"] });
      expect(wrong).toMatchObject({ isError: true });
      expect(wrong.text).toMatch(/^Wrong arguments: include_selectors\.0:/);
    });

    test("a site is crawled, with progress; the same call is the same crawl, and its texts are read by job", async () => {
      const shown = Promise.withResolvers<void>();
      const home = article("Home").replace("</body>", `<a href="/shop/lamp">Lamp</a></body>`);
      const site = sites.site({
        "/": { body: home },
        "/robots.txt": { status: 404 },
        "/shop/lamp": () => shown.promise.then(() => ({ body: article("Lamp") })),
      });
      const args = { url: `${site.origin}/`, include: ["/shop/**"], limit: 5, wait_s: 50 };
      const notices: string[] = [];
      const onprogress = ({ message = "" }: { message?: string }): void => {
        notices.push(message);
        shown.resolve();
      };
      const told = await call(client, "crawl_site", args, { onprogress });
      expect(told.facts).toMatchObject({
        created: true,
        status: "completed",
        counts: { done: 2, failed: 0 },
      });
      expect(told.text).toContain(`[Lamp](<${site.origin}/shop/lamp>) (done, repeats ${site.origin}/)`);
      expect(notices[0]).toMatch(/of \d+ items/);
      const { job_id } = told.facts;
      const same = await call(client, "crawl_site", args);
      expect(same.facts).toMatchObject({ job_id, created: false });
      expect(site.hits("/shop/lamp")).toBe(1);
      const anew = await call(client, "crawl_site", { ...args, again: true, wait_s: 0 });
      expect(anew.facts["job_id"]).not.toBe(job_id);
      expect((await call(client, "job", { job_id })).text).toContain("# Lamp");
      const wrong = await call(client, "crawl_site", { url: "nowhere" });
      expect(wrong).toMatchObject({ isError: true });
      expect(wrong.text).toMatch(/^Wrong arguments: url:/);
    });

    test("pages, jobs and the quota are resources; prompts name their steps", async () => {
      const site = sites.site({ "/a": { body: article("Attached") } });
      const uri = `page://fetch/${encodeURIComponent(`${site.origin}/a`)}`;
      const { contents } = await client.readResource({ uri });
      expect(contents[0]).toMatchObject({
        mimeType: "text/markdown",
        text: expect.stringContaining("# Attached"),
      });
      const quota = await client.readResource({ uri: "quota://key" });
      expect(JSON.parse((quota.contents[0] as { text: string }).text)).toHaveProperty("resets_at");
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
        "page://fetch/{url}",
        "job://{job_id}",
      ]);
      await expect(client.readResource({ uri: "page://nowhere" })).rejects.toThrow("page://nowhere");
      const { prompts } = await client.listPrompts();
      expect(prompts.map(({ name }) => name)).toEqual(["research", "company_dossier"]);
      const { messages } = await client.getPrompt({
        name: "research",
        arguments: { question: "How high is the tower?" },
      });
      expect(JSON.stringify(messages)).toContain("How high is the tower?");
    });
  });

  /** Tools with arguments that need nothing outside. */
  const CALLS: Readonly<Record<string, object>> = {
    search: { query: "tides" },
    fetch: { url: "not an address" },
    read_more: { cursor: "x" },
    map_site: { url: "not an address" },
    crawl_site: { url: "not an address" },
    resolve_company: { name: "Nobody at all", country: "AQ" },
    company: { ref: "cmp_0000000000000000" },
    filings: { ticker: "HLI" },
    filing_document: { cik: "9000001", accession: "0009000001-24-000007" },
    job: { job_id: "019ab3f2-7c1e-7a10-9d55-3e5b8f0c2a41" },
  };

  // Each of the two in one setup: the inspector begins anew for each tool, and the official client does both in each.
  test.skipIf(!existsSync(INSPECTOR)).each([setup === "embedded" ? "modern" : "legacy"])(
    "the inspector lists and calls every tool, %s (needs the inspector)",
    async (era) => {
      const inspect = async (...words: string[]): Promise<any> => {
        const auth = `Authorization: Bearer ${service.key}`;
        const all = [
          INSPECTOR,
          "--cli",
          `${service.url}/mcp`,
          ...words,
          "--header",
          auth,
          "--protocol-era",
          era,
          "--format",
          "json",
        ];
        // A tool's own error is exit code 5 with the answer on standard output.
        const { stdout } = await run(process.execPath, all).catch(
          (problem: { code: number; stdout: string }) => {
            if (problem.code !== 5) throw problem;
            return problem;
          },
        );
        return JSON.parse(stdout).result;
      };
      const { tools } = await inspect("--method", "tools/list", "--strict");
      expect(tools.map(({ name }: { name: string }) => name).toSorted()).toEqual(
        Object.keys(CALLS).toSorted(),
      );
      for (const [name, args] of Object.entries(CALLS)) {
        const words = [
          "--method",
          "tools/call",
          "--tool-name",
          name,
          "--tool-args-json",
          JSON.stringify(args),
        ];
        expect((await inspect(...words)).content).toMatchObject([
          { type: "text", text: expect.stringMatching(/./) },
        ]);
      }
    },
  );

  const [{ connect }] = WAYS as [Way];

  test("a tool's request is billed, listed and limited like one of its own, and the message is not", async () => {
    const { key } = await service.trawl("key", "create", "--project", "default", "--category", "search");
    const { key: full, prefix } = await service.trawl("key", "create", "--project", "default");
    const site = sites.site({ "/": { body: article("Billed") } });
    const client = await connect(service, full);
    await call(client, "fetch", { url: `${site.origin}/` });
    await client.listTools();
    await client.close();
    const { json } = await service.call("GET", `/v1/requests?key=${prefix}`, { key: full });
    expect(json.items).toMatchObject([{ category: "fetch_own", ok: true }]);
    const limited = await connect(service, key);
    const refused = await call(limited, "fetch", { url: `${site.origin}/` });
    expect(refused).toMatchObject({ isError: true, facts: { error: "key_category_not_allowed" } });
    expect(refused.text).toContain("tell the user");
    await limited.close();
  });

  test("another project's job is not there", async () => {
    await service.trawl("project", "create", "elsewhere");
    const { key } = await service.trawl("key", "create", "--project", "elsewhere");
    const { json } = await service.call("POST", "/v1/batch/fetch", {
      body: { idempotency_key: "mine", items: [{ url: "http://127.0.0.1:9/" }] },
    });
    const client = await connect(service, key);
    expect(await call(client, "job", { job_id: json.job_id })).toMatchObject({
      facts: { error: "http_404" },
    });
    await client.close();
  });

  test("without a key 401, from a script of another site 403, what is no message 400", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "ping" };
    const accept = "application/json, text/event-stream";
    const post = async (content: unknown, options: object = {}, headers: Record<string, string> = {}) =>
      service.call("POST", "/mcp", {
        body: content as object,
        headers: { accept, "content-type": "application/json", ...headers },
        ...options,
      });
    const without = await post(body, { key: null });
    expect(without).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
    expect((await post(body, {}, { origin: "https://evil.example" })).status).toBe(403);
    expect((await post(body, {}, { origin: service.url })).status).toBe(200);
    expect((await post("{")).status).toBe(400);
    expect((await service.call("GET", "/mcp")).status).toBe(405);
    expect((await service.call("DELETE", "/mcp")).status).toBe(405);
  });
});
