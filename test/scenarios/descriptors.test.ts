/** File descriptors that run out while the service works: its own failure, never the sites'. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findProgram } from "../harness/programs.ts";
import { scenario } from "../harness/scenario.ts";
import type { HttpResponse } from "../harness/http-response.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const PRLIMIT = findProgram("prlimit");
const SITES = 24;
/** A name server and one site take as many. */
const LEFT = 3;

describe.skipIf(PRLIMIT === null).each(SETUPS)(
  "a service whose file descriptors are used up, $setup",
  ({ start }) => {
    const { sites, service } = scenario(start);

    test("answers 503 with Retry-After, is not ready, holds nothing against the sites, and answers again", async () => {
      const urls = Array.from({ length: SITES }, (_, n) => {
        const pages = { "/robots.txt": { status: 404 }, "*": { body: article(`Page ${n}`) } };
        return `${sites.site(pages).origin}/`;
      });
      const fetchAll = (path: string) =>
        Promise.all(
          urls.map((url) =>
            service.call("POST", "/v1/fetch", { body: { url: `${url}${path}`, timeout_s: 30 } }),
          ),
        );
      const limitTo = (pid: number, files: number) =>
        execFileSync(PRLIMIT!, [`--pid=${pid}`, `--nofile=${files}:`]);
      // The connections of the calls are open before.
      await Promise.all(urls.map(() => service.call("GET", "/health", { key: null })));
      const leaveFew = () => {
        for (const pid of service.pids()) limitTo(pid, readdirSync(`/proc/${pid}/fd`).length + LEFT);
      };
      leaveFew();
      const answers = [];
      for (let round = 0; round < 4; round++) answers.push(...(await fetchAll(`round-${round}`)));
      const isRefusal = ({ status, headers }: HttpResponse) =>
        status === 503 && Number(headers["retry-after"]) > 0;
      const wrong = answers.filter(
        (each) => !isRefusal(each) && (each.status !== 200 || each.json.error !== null),
      );
      expect(wrong.map(({ status, json }) => ({ status, json }))).toEqual([]);
      expect(answers.filter(isRefusal).map(({ json }) => json.detail)).toContain(
        "this node has no file descriptor left, try again",
      );
      // Once for each outage of a node, which has a second one when idle connections gave theirs back between two rounds.
      const failing = service
        .stderr()
        .split("\n")
        .filter((line) => /"Turns fail: [^"]*file descriptors/.test(line))
        .map((line) => (JSON.parse(line) as { node: string }).node);
      expect(new Set(failing).size).toBe(service.pids().length);
      expect(failing.length).toBeLessThanOrEqual(4 * service.pids().length);
      // Idle connections that were closed meanwhile have left theirs.
      const ready = () => {
        leaveFew();
        return service.call("GET", "/ready", { key: null });
      };
      await expect.poll(ready, { timeout: 30_000 }).toMatchObject({
        status: 503,
        json: { checks: { file_descriptors: "unavailable" } },
      });
      expect(service.stderr()).not.toContain("uncaught_exception");

      for (const pid of service.pids()) limitTo(pid, 4_096);
      // Readers that could not be started are started again after a while, 32 s at most; until then 503 says so.
      const later = async () =>
        (await fetchAll("later")).map(({ status, json }) => [status, json.error, json.error_detail ?? null]);
      await expect
        .poll(later, { timeout: 60_000, interval: 1_000 })
        .toEqual(urls.map(() => [200, null, null]));
      await expect
        .poll(() => service.call("GET", "/ready", { key: null }), { timeout: 30_000 })
        .toMatchObject({
          status: 200,
          json: { checks: { file_descriptors: "ok" } },
        });
    });
  },
);
