/**
 * Credentials in an address: a header field of that project's request to that origin, which nothing else shows, keeps or
 * sends. Over HTTP.
 */
import { beforeAll, describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { type Arrival, article, type Page, redirect, type Site } from "../harness/web.ts";

const PASSWORD = "quite-secret-4711";
const FIELD = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString("base64")}`;

/** The page for those who log in; others are told to. */
const behindLogin = ({ headers }: Arrival): Page =>
  headers["authorization"] === FIELD
    ? { body: article("Behind the login") }
    : { status: 401, headers: { "WWW-Authenticate": 'Basic realm="x"' }, body: "Log in" };

const withLogin = (origin: string, password = PASSWORD): string =>
  origin.replace("://", `://ada:${password}@`);

const fieldsSeen = ({ arrivals }: Site, path: string) =>
  arrivals.filter((arrival) => arrival.path === path).map(({ headers }) => headers["authorization"]);

describe.each(SETUPS)("credentials in an address, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_POLITE_DELAY_MS: "20" }));
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });
  const fetch = (project: keyof typeof keys, body: FetchBody) =>
    service.fetch({ render: "never", allow_archive: false, ...body }, { key: keys[project] });

  test("are a field of the request to the origin, and in nothing that is answered or logged", async () => {
    const site = sites.site({ "/a": behindLogin });
    const answer = await fetch("first", { url: `${withLogin(site.origin)}/a` });
    expect(answer).toMatchObject({
      error: null,
      title: "Behind the login",
      url: `${site.origin.replace("://", "://***@")}/a`,
      final_url: `${site.origin}/a`,
    });
    expect([fieldsSeen(site, "/a"), fieldsSeen(site, "/robots.txt")]).toEqual([[FIELD], [undefined]]);
    for (const text of [JSON.stringify(answer), service.stdout(), service.stderr()]) {
      expect(text).not.toContain(PASSWORD);
      expect(text).not.toContain(FIELD);
    }
  });

  test("make the page one of their project, and one of who has them", async () => {
    const site = sites.site({ "/": behindLogin });
    const url = `${withLogin(site.origin)}/`;
    expect(await fetch("first", { url })).toMatchObject({ error: null, cached: false });
    expect(await fetch("first", { url })).toMatchObject({ error: null, cached: true });
    for (const project of ["first", "second"] as const)
      for (const other of [`${site.origin}/`, `${withLogin(site.origin, "guessed")}/`])
        expect(await fetch(project, { url: other })).toMatchObject({ error: "http_401", cached: false });
    expect(await fetch("second", { url })).toMatchObject({ error: null, cached: false });
    expect(await fetch("second", { url })).toMatchObject({ error: null, cached: true });
  });

  test("are not answered from the page that others got without them", async () => {
    const site = sites.site({
      "/": ({ headers }) => ({ body: article(headers["authorization"] ? "For Ada" : "For all") }),
    });
    expect(await fetch("second", { url: `${site.origin}/` })).toMatchObject({ title: "For all" });
    const url = `${withLogin(site.origin)}/`;
    expect(await fetch("first", { url })).toMatchObject({ title: "For Ada", cached: false });
    expect(await fetch("second", { url: `${site.origin}/` })).toMatchObject({
      title: "For all",
      cached: true,
    });
  });

  test("do not follow a redirect to another origin", async () => {
    const there = sites.site({ "/end": { body: article("Elsewhere") } });
    const site = sites.site({ "/": redirect("/next"), "/next": redirect(`${there.origin}/end`) });
    const answer = await fetch("first", { url: `${withLogin(site.origin)}/` });
    expect(answer).toMatchObject({ error: null, final_url: `${there.origin}/end` });
    expect(answer.redirects.map(({ url }) => url)).toEqual([`${site.origin}/`, `${site.origin}/next`]);
    expect([fieldsSeen(site, "/"), fieldsSeen(site, "/next")]).toEqual([[FIELD], [FIELD]]);
    expect(there.arrivals.map(({ headers }) => headers["authorization"])).toEqual(
      there.arrivals.map(() => undefined),
    );
  });

  test("of an item of a job are sent, and masked where the job is read", async () => {
    const site = sites.site({ "/item": behindLogin });
    const url = `${withLogin(site.origin)}/item`;
    const key = keys.first;
    const { json: job } = await service.call("POST", "/v1/batch/fetch", {
      key,
      body: { idempotency_key: "login", items: [{ url, render: "never" }] },
    });
    const lines = await service.call("GET", `/v1/jobs/${job.job_id}/results?follow=true`, { key });
    const shown = `${site.origin.replace("://", "://***@")}/item`;
    expect(JSON.parse(String(lines.bytes).trim())).toMatchObject({
      status: "done",
      input: { url: shown },
      result: { url: shown, title: "Behind the login" },
    });
    const table = await service.call("GET", `/v1/jobs/${job.job_id}/results`, {
      key,
      headers: { Accept: "text/csv" },
    });
    expect(String(table.bytes)).toContain(shown);
    for (const answered of [String(lines.bytes), String(table.bytes), service.stdout(), service.stderr()])
      expect(answered).not.toContain(PASSWORD);
  });
});
