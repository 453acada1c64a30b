/** A caller's own request in a browser: what of it goes with documents, with what they load, and with nothing else. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BrowserSetup, describeOneBrowser } from "../../../harness/browser-harness.ts";
import { ownPart } from "../../../harness/transport-request.ts";
import { article, redirect, type Site } from "../../../harness/web.ts";

describeOneBrowser("a caller's own request in a browser", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup();
  });
  afterAll(() => it.close());
  const sent = ({ arrivals }: Site): Record<string, [string | null, string | null]> =>
    Object.fromEntries(
      arrivals.map(({ path, headers }) => [path, [headers["x-api-key"] ?? null, headers["cookie"] ?? null]]),
    );
  const OWN = ownPart({
    headers: [
      ["X-Api-Key", "k"],
      ["Referer", "https://from.example/"],
    ],
    cookies: [{ name: "sid", value: "c" }],
  });
  const script = { type: "text/javascript", body: "" };

  test("goes with what the main frame loads from the origin, and not with a redirect of it", async () => {
    const there = it.web.site({ "*": script });
    const site = it.web.site({
      "/": {
        body: `${article("Loads")}<script src="/own.js"></script><script src="/moved"></script><iframe src="/frame"></iframe>
          <script src="${there.origin}/x.js"></script><iframe src="${there.origin}/frame"></iframe>
          <script>fetch("/data"); fetch("${there.origin}/data", { mode: "no-cors" })</script>`,
      },
      "/own.js": script,
      "/data": { type: "text/plain", body: "x" },
      "/frame": { body: "framed" },
      "/moved": redirect(`${there.origin}/target`),
    });
    expect(await it.fetch(`${site.origin}/`, OWN)).toMatchObject({ kind: "page", status: 200 });
    const own = ["k", "sid=c"];
    expect(sent(site)).toEqual({
      "/": own,
      "/own.js": own,
      "/data": own,
      "/moved": own,
      // A frame has the cookies of its host, as in any browser.
      "/frame": [null, "sid=c"],
    });
    const none = [null, null];
    expect(sent(there)).toEqual({ "/x.js": none, "/data": none, "/frame": none, "/target": none });
  });

  test("ends when a script leads the page away, also for requests back to the origin", async () => {
    let home = "";
    const there = it.web.site({
      "/end": () => ({ body: `${article("End")}<script src="${home}/own.js"></script>` }),
    });
    const site = it.web.site({
      "/": { body: `<p>Away</p><script>location.href = "${there.origin}/end"</script>` },
      "/own.js": script,
    });
    home = site.origin;
    expect(await it.fetch(`${site.origin}/`, OWN)).toMatchObject({ final_url: `${there.origin}/end` });
    expect([sent(site)["/own.js"], sent(there)["/end"]]).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  test("of a cookie without a domain reaches no other port of the host", async () => {
    const other = await openSetup();
    const taken = other.web.site({ "*": script }, "same");
    const site = it.web.site(
      { "/": { body: `${article("A")}<script src="${taken.origin}/x.js"></script>` } },
      "same",
    );
    expect(site.host).toBe(taken.host);
    await it.fetch(`${site.origin}/`, OWN);
    expect([sent(site)["/"], taken.arrivals]).toEqual([["k", "sid=c"], []]);
    await other.close();
  });

  test("as a POST is of the first document only, and a form of the page is its own", async () => {
    const site = it.web.site({
      "/": ({ method, body }) => ({
        body: `<form method=post action=/next><input name=a value="${method} ${body}"></form>
        <script>document.forms[0].submit()</script>`,
      }),
      "/next": ({ method, body }) => ({ body: article(`${method} ${decodeURIComponent(body)}`) }),
    });
    const page = await it.fetch(`${site.origin}/`, ownPart({ method: "POST", body: "one=1" }));
    expect(page.kind === "page" && page.body.toString()).toContain("<h1>POST a=POST+one=1</h1>");
    expect([site.hits("/"), site.hits("/next")]).toEqual([1, 1]);
  });
});
