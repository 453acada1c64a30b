/** GET /v1/jobs and GET /v1/jobs/{job_id}/results, on real actors without a socket. */
import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { csvLines } from "../../../../gateway/csv-lines.ts";
import { batches } from "../../../harness/batch-harness.ts";

const urls = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ url: `https://example.org/${n}` }));

describe("the jobs of a project", () => {
  test("are listed newest first, page by page, filtered by status and kind", async () => {
    const { call, clock, finished } = await batches();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const kind = n === 2 ? "search" : "fetch";
      const items = kind === "search" ? [{ query: "a" }] : urls(1);
      const { json } = await call("POST", `/v1/batch/${kind}`, { body: { items, idempotency_key: `k${n}` } });
      ids.unshift(json.job_id);
      await clock.advance(10);
    }
    await finished(ids[0]!);
    const all = (await call("GET", "/v1/jobs")).json;
    expect(all.items.map(({ job_id }: { job_id: string }) => job_id)).toEqual(ids);
    expect(all.next_cursor).toBeNull();
    expect(all.items[0]).toEqual((await call("GET", `/v1/jobs/${ids[0]}`)).json);

    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { json } = await call("GET", `/v1/jobs?limit=2${cursor && `&cursor=${cursor}`}`);
      expect(json.items.length).toBeLessThanOrEqual(2);
      seen.push(...json.items.map(({ job_id }: { job_id: string }) => job_id));
      cursor = json.next_cursor;
    }
    expect(seen).toEqual(ids);
    expect((await call("GET", "/v1/jobs?limit=5")).json.next_cursor).toBeNull();
    expect((await call("GET", "/v1/jobs?limit=4")).json.next_cursor).toBe(ids[3]);
    expect((await call("GET", "/v1/jobs?kind=search&limit=1")).json.next_cursor).toBeNull();
    expect((await call("GET", "/v1/jobs?kind=search")).json.items).toMatchObject([{ job_id: ids[2] }]);
    expect((await call("GET", "/v1/jobs?status=cancelled")).json.items).toEqual([]);
  });

  test("are not listed for another project", async () => {
    const { call, fetchAll, documents } = await batches();
    await fetchAll(urls(1));
    const { createKey, createProject } = await import("../../../../actors/business/accounts/keys.ts");
    await createProject(documents, { name: "other", customer: "default" }, 0);
    const { key } = await createKey(documents, { project: "other", role: "standard" }, 0);
    expect((await call("GET", "/v1/jobs", { key })).json).toEqual({ items: [], next_cursor: null });
    expect((await call("GET", "/v1/jobs")).json.items).toHaveLength(1);
  });
});

describe("the results of a job", () => {
  const lines = (bytes: Buffer) =>
    bytes
      .toString()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));

  test("are the items of getJob, one a line, from an index on", async () => {
    const { call, fetchAll, finished } = await batches();
    const { job_id } = (await fetchAll(urls(25))).json;
    await finished(job_id);
    const { items } = (await call("GET", `/v1/jobs/${job_id}?include=items`)).json;
    const answer = await call("GET", `/v1/jobs/${job_id.toUpperCase()}/results`);
    expect(answer.headers["content-type"]).toBe("application/x-ndjson");
    expect(lines(answer.bytes)).toEqual(items);
    const rest = await call("GET", `/v1/jobs/${job_id}/results?from=20`);
    expect(lines(rest.bytes)).toEqual(items.slice(20));
  });

  test("follow a running job to its end", async () => {
    const { call, fetchAll } = await batches({ ms: 700 });
    const { job_id } = (await fetchAll(urls(5))).json;
    const { bytes } = await call("GET", `/v1/jobs/${job_id}/results?follow=true`);
    expect(lines(bytes).map(({ index, status }) => [index, status])).toEqual(
      Array.from({ length: 5 }, (_, n) => [n, "done"]),
    );
  });

  test("have an empty line every 15 seconds while nothing else comes", async () => {
    const { call, fetchAll } = await batches({ ms: 40_000, step_ms: 100 });
    const { job_id } = (await fetchAll(urls(1))).json;
    const { bytes } = await call("GET", `/v1/jobs/${job_id}/results?follow=true`);
    expect(bytes.toString()).toMatch(/^\n\n\{.*\}\n$/);
  });

  test("have an empty line also while their store is slow", async () => {
    const { call, fetchAll, finished, reads, clock } = await batches({ step_ms: 100 });
    const { job_id } = (await fetchAll(urls(1))).json;
    await finished(job_id);
    const { promise, resolve } = Promise.withResolvers<void>();
    reads.until = promise;
    clock.at(clock.now() + 31_000, resolve);
    const { bytes } = await call("GET", `/v1/jobs/${job_id}/results?follow=true`);
    expect(bytes.toString()).toMatch(/^\n\n\{.*\}\n$/);
  });

  test("of a running job come as they are without follow", async () => {
    const { call, fetchAll } = await batches({ ms: 60_000 });
    const { job_id } = (await fetchAll(urls(2))).json;
    const { bytes } = await call("GET", `/v1/jobs/${job_id}/results`);
    expect(lines(bytes)).toMatchObject([{ result: null }, { result: null }]);
  });

  test("are rows of CSV for a client that accepts them", async () => {
    const { call, fetchAll, finished } = await batches();
    const { job_id } = (await fetchAll(urls(2))).json;
    await finished(job_id);
    const headers = { accept: "text/csv" };
    const { bytes, headers: given } = await call("GET", `/v1/jobs/${job_id}/results`, { headers });
    expect(given["content-type"]).toBe("text/csv; charset=utf-8");
    const [head, first] = bytes.toString().split("\r\n");
    expect(head).toBe(
      "index,status,error,url,final_url,http_status,tier,content_type,title,published_at,bytes,sha256,text",
    );
    expect(first).toMatch(/^0,done,,https:\/\/example\.org\/0,https:\/\/example\.org\/x,200,/);
  });

  test("have as many cells in each row of CSV as in its head, also for a search that found nothing", async () => {
    const { call, finished } = await batches();
    const body = { items: [{ query: "a, b" }], idempotency_key: "k" };
    const { job_id } = (await call("POST", "/v1/batch/search", { body })).json;
    await finished(job_id);
    const headers = { accept: "text/csv" };
    const { bytes } = await call("GET", `/v1/jobs/${job_id}/results`, { headers });
    const [head, row] = parse(bytes);
    expect(row).toEqual(["0", "done", "", "a, b", "", "", "", "", ""]);
    expect(row).toHaveLength(head!.length);
  });

  test("are lines of JSON for a client that refuses CSV, or accepts it less", async () => {
    const { call, fetchAll } = await batches();
    const { job_id } = (await fetchAll(urls(1))).json;
    for (const accept of ["text/csv;q=0", "application/x-ndjson, text/csv;q=0.5", "text/csv-schema"]) {
      const { headers } = await call("GET", `/v1/jobs/${job_id}/results`, { headers: { accept } });
      expect(headers["content-type"]).toBe("application/x-ndjson");
    }
  });

  test("of another project's job are not found", async () => {
    const { call } = await batches();
    const nowhere = "01a1fed4-907e-7b74-91d6-4c82af9314ba";
    expect((await call("GET", `/v1/jobs/${nowhere}/results`)).status).toBe(404);
  });
});

test.each([
  [["a", 1, null, true], "a,1,,true\r\n"],
  [['say "no"', "a,b", "two\nlines"], '"say ""no""","a,b","two\nlines"\r\n'],
  [["=1+1", "+1", "-1", "@x", "\tx"], "'=1+1,'+1,'-1,'@x,'\tx\r\n"],
  [[-1], "-1\r\n"],
])("a line of CSV: %j", (cells, line) => {
  expect(csvLines([cells])).toBe(line);
});
