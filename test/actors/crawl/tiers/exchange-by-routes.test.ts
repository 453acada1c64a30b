/** An exchange over routes instead of an egress, as robots.txt of the profile site is read. */
import { expect, test } from "vitest";
import { exchangeByRoutes } from "../../../../actors/crawl/tiers/exchange-by-routes.ts";
import type { Transport } from "../../../../actors/lib/web/transport.ts";
import type { Exchange } from "../../../../cluster/ports/egress.ts";
import { answer, failure } from "../../../harness/fetch-harness.ts";

const ROBOTS = "User-agent: *\nDisallow: /a?b=1&c=<2>\n";

const exchange = (...routes: Transport[]): Promise<Exchange> =>
  exchangeByRoutes(routes)({
    url: "https://profiles.test/robots.txt",
    method: "GET",
    headers: [],
    signal: new AbortController().signal,
  });

const plain: Transport = async () => answer(ROBOTS, 200, { "content-type": "text/plain" });
const rendered: Transport = async () => {
  const shown = ROBOTS.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const page = answer(
    `<html><head></head><body><pre style="white-space: pre-wrap">${shown}</pre></body></html>`,
  );
  return { ...page, body_kind: "rendered_dom" } as typeof page;
};
async function textOf(answered: Exchange): Promise<string> {
  if (answered.kind === "failed") return answered.problem;
  return Buffer.concat(await Array.fromAsync(answered.body)).toString();
}

test("the first route that reaches the site answers", async () => {
  expect(await textOf(await exchange(plain, rendered))).toBe(ROBOTS);
  expect(await exchange(async () => answer("No", 403), plain)).toMatchObject({
    kind: "answered",
    status: 403,
  });
  expect(await textOf(await exchange(async () => failure("proxy_unreachable"), plain))).toBe(ROBOTS);
});

test("a rendered text is the text that the browser shows", async () => {
  expect(await textOf(await exchange(rendered))).toBe(ROBOTS);
});

test("without a route, or when all fail, the last problem is told", async () => {
  expect(await exchange()).toMatchObject({ kind: "failed", problem: "proxy_unreachable", connected: false });
  const both = [async () => failure("provider_failed"), async () => failure("timeout")];
  expect(await exchange(...both)).toMatchObject({ kind: "failed", problem: "timeout" });
  expect(await exchange(async () => failure("provider_failed"))).toMatchObject({
    problem: "proxy_unreachable",
  });
});

test("a redirect is answered and not followed", async () => {
  const location = "https://www.profiles.test/robots.txt";
  const redirecting: Transport = async ({ url, admit }) => {
    const first = await admit(url);
    const second = await admit(location);
    if (first.kind === "refused" || second.kind !== "refused") throw new Error("The redirect was followed");
    const redirects = [{ url, status: 301, location }];
    return { kind: "refused", refusal: second.refusal, redirects, final_url: url, ms: 1 };
  };
  const answered = await exchange(redirecting);
  expect(answered).toMatchObject({ kind: "answered", status: 301 });
  expect(answered.kind === "answered" && answered.headers.get("location")).toEqual([location]);
});
