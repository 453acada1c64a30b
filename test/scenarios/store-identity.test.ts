/** A document store that is lost, or another installation's, as an operator meets it: at the start, in /ready, by the commands. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { engines } from "../harness/engines.ts";
import { programWords } from "../harness/program-words.ts";
import { scenario } from "../harness/scenario.ts";
import { type Environment, SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const { documents, blobs } = await engines("documents", "blobs");
const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;

/** Ends by itself, or is ended when it listens. */
async function startOnce(environment: Environment): Promise<{ code: number | null; output: string }> {
  const program = spawn(process.execPath, [...programWords(), "start"], {
    env: { ...environment, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [program.stdout, program.stderr])
    stream.on("data", (text: Buffer) => {
      output += text.toString();
      if (output.includes("Trawl answers at")) program.kill("SIGTERM");
    });
  const [code] = (await once(program, "close")) as [number | null];
  return { code, output };
}

describe("a service on embedded engines", () => {
  const { sites, service } = scenario(start);

  test.each([
    ["is lost", (path: string) => rmSync(path)],
    ["is empty", (path: string) => writeFileSync(path, "")],
  ])(
    "whose document store %s says so and removes no body, until an operator adopts them",
    async (_, lose) => {
      const site = sites.site({ "/": { body: article(`Page ${randomBytes(4).toString("hex")}`) } });
      await service.fetch({ url: `${site.origin}/` });
      expect((await service.call("GET", "/ready", { key: null })).json).not.toHaveProperty("warnings");
      expect(await service.meter("trawl_bodies_collection_stopped")).toBe(0);
      const before = await service.trawl("stores", "show");
      expect(before.documents.id).toBe(before.bodies.id);
      await service.stop();
      const folder = service.environment["TRAWL_DATA_DIR"]!;
      lose(join(folder, "documents.sqlite"));
      for (const rest of readdirSync(folder).filter((name) => name.startsWith("documents.sqlite-")))
        rmSync(join(folder, rest));
      for (let starts = 0; starts < 2; starts++) {
        await service.restart();
        const warning = expect.stringMatching(/documents.sqlite" are new, and ".*bodies" has bodies already/);
        expect(await service.call("GET", "/ready", { key: null })).toMatchObject({
          status: 200,
          json: { warnings: [warning] },
        });
        expect(service.stderr()).toMatch(/Warning: Bodies are not removed: .*has bodies already/);
        expect(await service.meter("trawl_bodies_collection_stopped", 'reason="apart"')).toBe(1);
        await service.fetch({ url: `${site.origin}/` });
        if (starts === 0) await service.stop();
      }
      const adopted = await service.trawl("stores", "adopt");
      expect(adopted.former_id).toBe(before.bodies.id);
      await service.stop();
      await service.restart();
      expect((await service.call("GET", "/ready", { key: null })).json).not.toHaveProperty("warnings");
      const after = await service.trawl("stores", "show");
      expect([after.documents.id, after.bodies.id]).toEqual([adopted.id, adopted.id]);
    },
  );

  test("does not start on another installation's bodies, and names both stores", async () => {
    const other = join(service.environment["TRAWL_DATA_DIR"]!, "other");
    const environment = { ...service.environment, TRAWL_DATA_DIR: other };
    expect((await startOnce(environment)).output).toContain("Trawl answers at");
    const mixed = {
      ...environment,
      TRAWL_BLOBS: `file:${join(service.environment["TRAWL_DATA_DIR"]!, "bodies")}`,
    };
    await service.stop();
    const { code, output } = await startOnce(mixed);
    expect(code).toBe(1);
    expect(output).toMatch(
      /Cannot start: the documents in ".*other\/documents.sqlite" and the bodies in ".*\/bodies" do not belong together.*trawl stores adopt/,
    );
    await service.restart();
  });
});

describe.skipIf(documents === null || blobs === null)("a service on MongoDB and S3", () => {
  test("whose bucket another installation uses says so, and neither starts on the other's stores", async () => {
    const name = (): string => `identity-${randomBytes(6).toString("hex")}`;
    const [mine, staging, other] = [name(), name(), name()];
    const of = (database: string, prefix: string): Environment => ({
      ...documents,
      ...blobs,
      TRAWL_DOCUMENTS: documents!["TRAWL_DOCUMENTS"]!.replace(/^(\w+:\/\/[^/]+)[^?]*/, `$1/${database}`),
      TRAWL_BLOBS: `${blobs!["TRAWL_BLOBS"]}/${prefix}`,
    });
    const service = await start(of(mine, mine));
    try {
      expect((await service.call("GET", "/ready", { key: null })).json).not.toHaveProperty("warnings");
      const beside = await start(of(staging, mine));
      try {
        expect((await beside.call("GET", "/ready", { key: null })).json.warnings).toEqual([
          expect.stringContaining("TRAWL_DOCUMENTS names are new"),
        ]);
      } finally {
        await beside.close();
      }
      const third = await start(of(other, other));
      const { environment } = third;
      await third.close();
      const { code, output } = await startOnce({ ...environment, ...of(other, mine) });
      expect([code, output]).toEqual([1, expect.stringContaining("do not belong together")]);
    } finally {
      await service.close();
    }
  });
});

describe("a service whose files are taken away", () => {
  const { sites, service } = scenario(start);

  test("fetches a page again whose body was lost, after the body was asked for", async () => {
    const site = sites.site({ "/": { type: "application/octet-stream", body: randomBytes(1_000_000) } });
    const { body_url } = await service.fetch({ url: `${site.origin}/` });
    const bodies = join(service.environment["TRAWL_DATA_DIR"]!, "bodies");
    for (const name of readdirSync(bodies).filter((each) => /^[0-9a-f]{2}$/.test(each)))
      rmSync(join(bodies, name), { recursive: true });
    expect((await service.call("GET", body_url!)).status).toBe(404);
    await expect
      .poll(async () => (await service.fetch({ url: `${site.origin}/` })).cached, { timeout: 20_000 })
      .toBe(false);
    expect(site.hits("/")).toBe(2);
    expect((await service.call("GET", body_url!)).status).toBe(200);
  });

  test("makes a damaged search index again from the pages that it has", async () => {
    const site = sites.site({ "/": { body: article("The bittern in the reeds") } });
    await service.fetch({ url: `${site.origin}/` });
    await service.stop();
    const folder = service.environment["TRAWL_DATA_DIR"]!;
    for (const name of readdirSync(folder).filter((each) => each.startsWith("search.sqlite")))
      rmSync(join(folder, name));
    writeFileSync(
      join(folder, "search.sqlite"),
      "no database at all, but long enough to be looked at".repeat(20),
    );
    await service.restart();
    expect(readdirSync(folder).some((name) => name.startsWith("search.sqlite.damaged-"))).toBe(true);
    await expect
      .poll(
        async () => {
          const body = { query: "bittern reeds", cache_ttl_s: 0 };
          return (await service.call("POST", "/v1/search", { body })).json.results?.[0]?.url;
        },
        { timeout: 20_000 },
      )
      .toBe(`${site.origin}/`);
  });

  test("accepts nothing once documents.sqlite was removed under it, and /ready names it", async () => {
    rmSync(join(service.environment["TRAWL_DATA_DIR"]!, "documents.sqlite"));
    const body = { items: [{ url: "http://a.test/" }], idempotency_key: "into-nowhere" };
    expect((await service.call("POST", "/v1/batch/fetch", { body })).status).toBe(503);
    expect(await service.call("GET", "/ready", { key: null })).toMatchObject({
      status: 503,
      json: { checks: { documents: "unavailable" } },
    });
  });
});
