/** How a service begins and ends: the first start, SIGTERM, kill -9, and what the next start finds. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, CHALLENGE, gate, type Page } from "../harness/web.ts";

/** Whether a server takes a connection there. */
async function isListening(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe.each(SETUPS)("the life of a service, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("begins with an operator key in one data folder, which only its owner can read and the command line uses", async () => {
    const fresh = await start({ TRAWL_ADMIN_KEY: "", TRAWL_OPERATOR_KEY: "" });
    try {
      const folder = fresh.environment["TRAWL_DATA_DIR"]!;
      const kept = [folder, join(dirname(folder), "two")].map((data) => join(data, "operator.key"));
      const files = kept.filter((file) => existsSync(file));
      expect(files.map((file) => statSync(file).mode & 0o777)).toEqual([0o600]);
      const operator = readFileSync(files[0]!, "utf8").trim();
      const output = fresh.stdout() + fresh.stderr();
      expect(output).not.toContain(operator);
      const [admin] = /\bak_[A-Za-z0-9]{43}\b/.exec(output)!;
      const statuses = async () =>
        Promise.all(
          [admin, operator].map(async (key) => (await fresh.call("GET", "/v1/ops/nodes", { key })).status),
        );
      expect(await statuses()).toEqual([403, 200]);
      const nodes = await fresh.trawl("top", ...(files[0] === kept[0] ? [] : ["--key", operator]));
      expect(nodes.length).toBeGreaterThan(0);
      await fresh.stop();
      await fresh.restart();
      expect(kept.filter((file) => existsSync(file))).toEqual(files);
      expect(await statuses()).toEqual([403, 200]);
    } finally {
      await fresh.close();
    }
  });

  test("begins with a key that is printed once and keeps working", async ({ annotate }) => {
    const fresh = await start({ TRAWL_ADMIN_KEY: "" });
    try {
      const keys = [...fresh.stdout().matchAll(/\bak_[A-Za-z0-9]{43}\b/g)].map(([key]) => key);
      const [key] = keys as [string];
      expect(new Set(keys).size).toBe(1);
      // How fast it should be is for a machine that does nothing else.
      await annotate(`/health answered ${Math.round(fresh.started_ms())} ms after the process was started`);
      expect(fresh.stdout()).toContain(fresh.url);
      expect(fresh.stderr()).not.toContain(key);
      const quota = () => fresh.call("GET", "/v1/quota", { key });
      expect(await quota()).toMatchObject({ status: 200, json: { role: "account_admin" } });

      const printed = fresh.stdout().length;
      await fresh.stop();
      await fresh.restart();
      expect(fresh.stdout().slice(printed)).toContain(fresh.url);
      expect(fresh.stdout().slice(printed)).not.toMatch(/\bak_/);
      expect(await quota()).toMatchObject({ status: 200 });
    } finally {
      await fresh.close();
    }
  });

  test("does not begin on a port that is in use, and says so", async () => {
    const port = new URL(service.url).port;
    await expect(start({ PORT: port })).rejects.toThrow(
      /Cannot listen on 127\.0\.0\.1:\d+: the address is taken/,
    );
    expect((await service.call("GET", "/health", { key: null })).status).toBe(200);
  });

  test("ends on SIGTERM after it has answered the requests in flight, and accepts no new ones", async () => {
    const door = gate();
    const site = sites.site({
      "/": async (): Promise<Page> => {
        await door.opened;
        return { body: article("The last one") };
      },
    });
    const { host, hostname, port } = new URL(service.url);
    const idle = connect(Number(port), hostname);
    await once(idle, "connect");
    const last = service.fetch({ url: `${site.origin}/` });
    await site.reached("/");
    let is_over = false;
    const ended = service.stop().finally(() => (is_over = true));
    await expect.poll(() => isListening(service.url), { timeout: 5_000 }).toBe(false);
    expect(is_over).toBe(false);
    // A connection that was there before is still served, and told why it should not count on it.
    idle.write(`GET /ready HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [bytes] = (await once(idle, "data")) as [Buffer];
    expect(bytes.toString()).toMatch(/^HTTP\/1\.1 503 [^]*connection: close[^]*"status":"not_ready"/i);
    idle.destroy();
    door.open();
    const answer = await last;
    expect(answer).toMatchObject({ http: 200, error: null, title: "The last one" });
    expect(answer.answer.headers["connection"]).toBe("close");
    expect(await ended).toMatchObject({ code: 0 });
    await service.restart();
    expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ cached: true });
    expect(site.hits("/")).toBe(1);
  });

  test.each(["SIGTERM", "kill -9"])(
    "continues after %s with its stored state",
    async (how) => {
      const body = randomBytes(300_000);
      const site = sites.site({
        "/page": { body: article("Kept") },
        "/file": { type: "application/octet-stream", body },
        "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /no" },
      });
      const walled = sites.site({ "/": CHALLENGE });
      const project = how === "SIGTERM" ? "ended" : "killed";
      await service.trawl("project", "create", project);
      const [used, revoked] = await Promise.all([
        service.trawl("key", "create", "--project", project),
        service.trawl("key", "create", "--project", project),
      ]);
      await service.trawl("key", "revoke", revoked.prefix);
      const page = await service.fetch({ url: `${site.origin}/page` }, { key: used.key });
      const file = await service.fetch({ url: `${site.origin}/file` }, { key: used.key });
      expect(await service.fetch({ url: `${site.origin}/no` })).toMatchObject({ error: "robots_disallowed" });
      for (let n = 0; n < 3; n++) await service.fetch({ url: `${walled.origin}/` });
      const seen = { hits: site.arrivals.length, walled: walled.arrivals.length };

      if (how === "SIGTERM") await service.stop();
      else await service.kill();
      await service.restart();

      const again = await service.fetch({ url: `${site.origin}/page` }, { key: used.key });
      const { answer: _a, request_id: _i, cached, attempts, billing_category, ...rest } = again;
      expect({ cached, attempts, billing_category }).toEqual({
        cached: true,
        attempts: [],
        billing_category: "fetch_cached",
      });
      expect(page).toMatchObject(rest);
      const download = await service.call("GET", file.body_url!, { key: used.key });
      expect(download.bytes.equals(body)).toBe(true);
      expect((await service.call("GET", "/v1/quota", { key: revoked.key })).status).toBe(401);
      // Knowledge about sites outlives the process, too.
      expect(await service.fetch({ url: `${site.origin}/no` })).toMatchObject({ error: "robots_disallowed" });
      expect(await service.fetch({ url: `${walled.origin}/` })).toMatchObject({
        error: "domain_unavailable",
      });
      expect({ hits: site.arrivals.length, walled: walled.arrivals.length }).toEqual(seen);
    },
    120_000,
  );

  test("loses no answered page by kill -9 under load", async () => {
    const MANY = 60;
    const many = Array.from({ length: MANY }, (_, n) => sites.site({ "/": { body: article(`Page ${n}`) } }));
    let answered = 0;
    const half = Promise.withResolvers<void>();
    const asked = many.map(async ({ origin }) => {
      try {
        const answer = await service.fetch({ url: `${origin}/` });
        if (++answered === MANY / 2) half.resolve();
        return answer;
      } catch {
        return null;
      }
    });
    await half.promise;
    await service.kill();
    const answers = await Promise.all(asked);
    await service.restart();

    const stored = answers.filter((answer) => answer !== null);
    // A fetch that was not answered may be asked for again from the bus: only answered pages stay as they are.
    const hits = () => many.filter((_, n) => answers[n] !== null).map((site) => site.hits("/"));
    expect(stored.length).toBeGreaterThanOrEqual(MANY / 2);
    for (const answer of stored) {
      expect(answer.error).toBeNull();
      const before = hits();
      expect(await service.fetch({ url: answer.url })).toMatchObject({
        cached: true,
        sha256: answer.sha256,
        text: answer.text,
        html: answer.html,
      });
      expect(hits()).toEqual(before);
      expect((await service.call("GET", answer.body_url!)).bytes.toString()).toBe(answer.html);
    }
    // A client that was not answered is not locked out.
    const others = many.filter((_, n) => answers[n] === null);
    const late = await Promise.all(others.map(({ origin }) => service.fetch({ url: `${origin}/` })));
    expect(late.map(({ error }) => error)).toEqual(others.map(() => null));
  });
});
