/** Steps in a page of a real browser: a login form, an endless list, a wizard of three steps; what each step says, and what a page showed when one failed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Action, StoredOutcome } from "../../../../schemas/actions.ts";
import type { TransportRequest, TransportResult } from "../../../../actors/lib/web/transport.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import { type GivenSecrets, NO_SECRETS, withSecrets } from "../../../../actors/lib/web/session-secrets.ts";
import { type BrowserSetup, describeOneBrowser } from "../../../harness/browser-harness.ts";
import { ownPart } from "../../../harness/transport-request.ts";
import { article, type Page, redirect, type Site } from "../../../harness/web.ts";

type PageResult = Extract<TransportResult, { kind: "page" }>;

const LOGIN = `<title>Log in</title><form method=post action=/login><input name=user><input name=password type=password>
  <select name=office><option value=1>Garth</option><option value=2>Oskerry</option></select><button>Log in</button></form>`;
/** A shop behind a login. */
const shop = {
  "/": { body: LOGIN },
  "/login": ({ method, body }: { method: string; body: string }): Page =>
    method === "POST" && body === "user=ada&password=secret&office=2"
      ? { status: 303, headers: { Location: "/account", "Set-Cookie": "sid=1; Path=/" } }
      : { body: `<title>Again</title><p>Wrong password</p>${LOGIN}` },
  "/account": ({ headers }: { headers: Readonly<Record<string, string>> }): Page =>
    headers["cookie"] === "sid=1" ? { body: article("Account of Ada") } : { status: 403, body: "no" },
};
/** 100 items, 20 at a time, when the window nears the end. */
const ENDLESS = `<title>List</title><style>li{height:60px}</style><ul id=list></ul><script>
  let from = 0, isBusy = false;
  const more = async () => {
    if (isBusy || from >= 100) return;
    isBusy = true;
    const names = await (await fetch("/items?from=" + from)).json();
    for (const name of names) list.insertAdjacentHTML("beforeend", "<li>" + name + "</li>");
    from += names.length; isBusy = false;
  };
  addEventListener("scroll", () => { if (innerHeight + scrollY > document.body.scrollHeight - 200) more(); });
  more();</script>`;
const items = ({ path }: { path: string }): Page => {
  const from = Number(new URL(path, "http://any.test").searchParams.get("from"));
  return {
    type: "application/json",
    body: JSON.stringify(Array.from({ length: 20 }, (_, at) => `Item ${from + at}`)),
  };
};
const WIZARD = `<title>Wizard</title><div id=app></div><script>
  const steps = ["Your name", "Your harbour", "Your lamp"], given = [];
  const show = () => { app.innerHTML = given.length < 3
    ? "<h1>" + steps[given.length] + "</h1><input id=answer data-step=" + given.length + "><button id=next disabled>Next</button>"
    : "<h1>Ordered</h1><p id=order>" + given.join(", ") + "</p>";
    const answer = document.getElementById("answer"); if (!answer) return;
    answer.oninput = () => { next.disabled = answer.value === "" };
    next.onclick = () => setTimeout(() => { given.push(answer.value); show(); }, 100); };
  show();</script>`;

const FIELD = '<title>Field</title><p>Type a word</p><input id=word style="caret-color: transparent">';

describeOneBrowser("steps in a page", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => (it = await openSetup()));
  afterAll(() => it.close());

  const take = async (url: string, actions: Action[], over: Partial<TransportRequest> = {}) => {
    const answer = await it.fetch(url, { ...ownPart({ actions }), ...over });
    if (answer.kind !== "page") throw new Error(JSON.stringify(answer));
    return { ...answer, outcomes: answer.actions?.outcomes ?? [], html: answer.body.toString() };
  };
  const said = (outcomes: readonly StoredOutcome[]) => outcomes.map(({ type, error }) => [type, error]);

  test("log in by a form: the page behind it is read, and nothing typed is told", async () => {
    const site = it.web.site(shop);
    const page = await take(`${site.origin}/`, [
      { type: "type", selector: "[name=user]", text: "ada" },
      { type: "type", selector: "[name=password]", text: "secret" },
      { type: "select", selector: "[name=office]", value: "Oskerry" },
      { type: "press", selector: "[name=password]", key: "Enter" },
    ]);
    expect(page).toMatchObject({ status: 200, final_url: `${site.origin}/account` });
    expect(page.shortfall).toBeUndefined();
    expect(page.html).toContain("Account of Ada");
    expect(said(page.outcomes)).toEqual([
      ["type", null],
      ["type", null],
      ["select", null],
      ["press", null],
    ]);
    expect(page.outcomes.map(({ url }) => url).at(-1)).toBe(`${site.origin}/account`);
    expect(JSON.stringify(page.outcomes)).not.toContain("secret");
    expect(it.visits.filter(({ released }) => released.length !== 1)).toEqual([]);
  });

  /** The secrets of the session of a request, as the route opens them. */
  const secretsOf = (secrets: GivenSecrets) => ({
    session_secrets: withSecrets(NO_SECRETS, secrets)!.text,
    archive: true,
  });
  /** Everything that a request brings: the page, what came of the steps, the archive and its bodies. */
  const everything = async ({ actions, exchanges = [], ...page }: PageResult): Promise<string> => {
    const bodies = exchanges.flatMap(({ response: { body } }) =>
      body && "sha256" in body ? body.sha256 : [],
    );
    const stored = await Promise.all(bodies.map((sha256) => readBody(it.blobs, sha256)));
    const shown = { ...page, headers: [...page.headers], body: page.body.toString(), exchanges };
    return JSON.stringify([shown, actions?.outcomes, stored.map(String)]);
  };

  test("type a secret of the session, which is in nothing that the page brings", async () => {
    const value = 'pin "a&b<c" 7';
    const echo = `<p>${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</p>`;
    const site = it.web.site({
      "/": { body: `<title>Log in</title><form action=/in><input name=word><button>Go</button></form>` },
      "/in": ({ path }) => ({
        headers: { "X-Seen": encodeURIComponent(value) },
        body: `<title>In ${path.includes("word=pin+%22a%26b%3Cc%22+7")}</title><a href="${path}">again</a>${echo}`,
      }),
    });
    const page = await take(
      `${site.origin}/`,
      [
        { type: "type", selector: "[name=word]", secret: "pin" },
        { type: "evaluate", script: "document.querySelector('[name=word]').value" },
        { type: "screenshot" },
        { type: "press", selector: "[name=word]", key: "Enter" },
        { type: "click", selector: "#none", timeout_ms: 1_000 },
      ],
      secretsOf({ pin: { value }, other: { value: "Log in" } }),
    );
    expect(page.html).toContain("<title>In true</title>");
    expect(page.outcomes).toMatchObject([
      { ok: true },
      { value: "***" },
      { ok: true },
      { ok: true, url: `${site.origin}/in?word=***` },
      { ok: false, page: { text: expect.stringContaining("***") } },
    ]);
    expect(page.final_url).toBe(`${site.origin}/in?word=***`);
    expect(it.visits.map(({ url }) => url).at(-1)).toBe(`${site.origin}/in?word=***`);
    const text = await everything(page);
    expect(text).toContain("Log in");
    for (const form of [value, encodeURIComponent(value), "pin+%22a", "pin &quot;a", 'pin \\\"a', "a&amp;b"])
      expect([form, text.includes(form)]).toEqual([form, false]);
  });

  test("type a secret into pages of its origin and no other", async () => {
    const there = it.web.site({ "*": { body: FIELD } });
    const site = it.web.site({
      "/": { body: FIELD },
      "/away": redirect(`${there.origin}/end`),
      "/led": { body: `${FIELD}<script>setTimeout(() => { location = "${there.origin}/led" }, 50)</script>` },
    });
    const typed: Action[] = [
      { type: "type", selector: "#word", secret: "pin" },
      { type: "evaluate", script: "document.querySelector('#word').value.length" },
    ];
    const pin = { value: "harbour-42" };
    const codes = async (path: string, secrets: GivenSecrets) =>
      said((await take(`${site.origin}${path}`, typed, secretsOf(secrets))).outcomes);
    const isTyped = [
      ["type", null],
      ["evaluate", null],
    ];
    const isRefused = [["type", "secret_of_another_origin"]];
    expect(await codes("/", { pin })).toEqual(isTyped);
    expect(await codes("/away", { pin })).toEqual(isRefused);
    expect(await codes("/led", { pin })).toEqual(isRefused);
    expect(await codes("/away", { pin: { ...pin, origin: there.origin } })).toEqual(isTyped);
    expect(await codes("/", { pin: { ...pin, origin: there.origin } })).toEqual(isRefused);
    expect(await codes("/", { other: pin })).toEqual([["type", "secret_not_found"]]);
  });

  test("show dots in pictures where a secret was typed", async () => {
    const site = it.web.site({ "/": { body: FIELD } });
    const picture = async (step: Action, secrets: GivenSecrets = {}) => {
      const { outcomes } = await take(`${site.origin}/`, [step, { type: "screenshot" }], secretsOf(secrets));
      return outcomes[1]!.screenshot!.sha256;
    };
    const secret = { type: "type", selector: "#word", secret: "pin" } as const;
    const text = { type: "type", selector: "#word", text: "lllll" } as const;
    const dots = await picture(secret, { pin: { value: "lllll" } });
    expect(await picture(secret, { pin: { value: "WWWWW" } })).toBe(dots);
    expect(await picture(text)).not.toBe(dots);
  });

  test("scroll to the end of an endless list, and no further than the limit", async () => {
    const site = it.web.site({ "/": { body: ENDLESS }, "/items": items });
    const whole = await take(`${site.origin}/`, [{ type: "scroll" }]);
    expect(whole.html).toContain("Item 99");
    expect(whole.outcomes).toMatchObject([{ type: "scroll", ok: true, value: { is_end: true } }]);
    const part = await take(`${site.origin}/`, [{ type: "scroll", max_scrolls: 1 }]);
    expect(part.outcomes).toMatchObject([{ ok: true, value: { scrolls: 1, is_end: false } }]);
    expect(part.html).not.toContain("Item 99");
  });

  test("go through a wizard whose parts come by script", async () => {
    const site = it.web.site({ "/": { body: WIZARD } });
    const answer = (step: number, text: string): Action[] => [
      { type: "type", selector: `#answer[data-step="${step}"]`, text },
      { type: "click", selector: "#next" },
    ];
    const { html, outcomes } = await take(`${site.origin}/`, [
      ...answer(0, "Ada"),
      ...answer(1, "Garth"),
      ...answer(2, "storm"),
      { type: "wait", selector: "#order" },
      { type: "wait", idle: true },
    ]);
    expect(html).toContain("Ada, Garth, storm");
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(outcomes).toHaveLength(8);
  });

  test("give values of scripts, pictures and PDFs", async () => {
    const site = it.web.site({ "/": { body: article("Harbour") }, "/next": { body: article("Next") } });
    const { outcomes, actions } = await take(`${site.origin}/`, [
      { type: "evaluate", script: "document.querySelector('h1').textContent;" },
      { type: "evaluate", script: "const two = await 2; return { two, none: undefined }" },
      { type: "evaluate", script: "undefined" },
      { type: "screenshot" },
      { type: "pdf" },
      { type: "evaluate", script: "location.href = '/next'; await new Promise(() => {})" },
    ]);
    expect(outcomes).toMatchObject([
      { value: "Harbour" },
      { value: { two: 2 } },
      { value: null },
      { screenshot: { content_type: "image/png", width: 1280, height: 720 } },
      { pdf: { bytes: expect.any(Number) } },
      { ok: true, value: null, url: `${site.origin}/next` },
    ]);
    const [png, pdf] = actions!.files;
    expect(png!.bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(pdf!.bytes.subarray(0, 5).toString()).toBe("%PDF-");
    expect(actions!.files.map(({ sha256 }) => sha256)).toEqual([
      outcomes[3]!.screenshot!.sha256,
      outcomes[4]!.pdf!.sha256,
    ]);
  });

  test("end with one that fails, which says what the page showed", async () => {
    const site = it.web.site(shop);
    const { outcomes, shortfall, html, actions } = await take(`${site.origin}/`, [
      { type: "click", selector: "button" },
      { type: "click", selector: "#basket", timeout_ms: 1_000 },
      { type: "evaluate", script: "document.title = 'never'" },
    ]);
    expect(said(outcomes)).toEqual([
      ["click", null],
      ["click", "not_found"],
    ]);
    expect(outcomes[1]).toMatchObject({
      detail: 'No element matches "#basket" within 1000 ms',
      page: { title: "Again", text: expect.stringContaining("Wrong password"), matches: 0, visible: 0 },
      screenshot: { content_type: "image/png" },
    });
    expect(shortfall).toEqual({
      error: "action_failed",
      detail: 'actions[1] (click "#basket"): No element matches "#basket" within 1000 ms',
    });
    expect(html).toContain("Wrong password");
    expect(actions!.files).toHaveLength(1);
  });

  test("say why one failed", async () => {
    const site = it.web.site({
      "/": {
        body: `${article("Shop")}<button id=hidden style="display:none">H</button><button id=off disabled>O</button>
          <button id=under style="position:fixed;left:0;top:0;width:90px;height:40px">U</button>
          <div id=consent style="position:fixed;left:0;top:0;width:100%;height:100%;background:white">Cookies?</div>
          <select id=colour><option>red</option></select>`,
      },
    });
    const short = { timeout_ms: 2_000, optional: true };
    const { outcomes, shortfall } = await take(`${site.origin}/`, [
      { type: "click", selector: "#hidden", ...short },
      { type: "click", selector: "#under", ...short },
      { type: "select", selector: "#colour", value: "blue", ...short },
      { type: "press", key: "NoSuchKey", ...short },
      { type: "evaluate", script: "nowhere()", ...short },
      { type: "evaluate", script: "'x'.repeat(300_000)", ...short },
      { type: "evaluate", script: "document.querySelector('#consent').remove()", ...short },
      { type: "click", selector: "#off", ...short },
      { type: "evaluate", script: "while (true);", ...short },
      { type: "evaluate", script: "document.title", ...short },
    ]);
    expect(outcomes.map(({ error }) => error)).toEqual([
      "not_visible",
      "covered",
      "not_found",
      "failed",
      "script_failed",
      "too_large",
      null,
      "disabled",
      "timeout",
      null,
    ]);
    expect(outcomes[1]!.page!.covered_by).toBe("div#consent");
    expect(outcomes[4]!.detail).toBe("ReferenceError: nowhere is not defined");
    expect(shortfall).toBeUndefined();
  });

  test("are held by the guard: a link to a refused address ends the page", async () => {
    const site = it.web.site({ "/": { body: '<a id=away href="http://169.254.169.254/">Away</a>' } });
    const answer = await it.fetch(
      `${site.origin}/`,
      ownPart({ actions: [{ type: "click", selector: "#away" }] }),
    );
    expect(answer).toMatchObject({ kind: "refused", refusal: { error: "blocked_destination" } });
  });

  test("do not take a caller's cookies and fields along to another origin", async () => {
    const there = it.web.site({ "*": { body: article("There") } });
    const site: Site = it.web.site({ "/": { body: `<a id=away href="${there.origin}/x">Away</a>` } });
    const own = ownPart({
      headers: [["X-Api-Key", "k"]],
      cookies: [{ name: "sid", value: "c" }],
      actions: [{ type: "click", selector: "#away" }],
    });
    expect(await it.fetch(`${site.origin}/`, own)).toMatchObject({ final_url: `${there.origin}/x` });
    const { headers } = there.arrivals.find(({ path }) => path === "/x")!;
    expect([headers["x-api-key"], headers["cookie"]]).toEqual([undefined, undefined]);
  });
});

describeOneBrowser("the time of steps", (openSetup) => {
  test("is that of the request: what is not begun says so", async () => {
    const it = await openSetup();
    const site = it.web.site({ "/": { body: article("Slow") } });
    const actions: Action[] = [
      { type: "wait", ms: 30_000, optional: true },
      { type: "click", selector: "h1" },
    ];
    const answer = (await it.fetch(`${site.origin}/`, {
      ...ownPart({ actions }),
      deadline_ms: Date.now() + 8_000,
    })) as PageResult;
    expect(answer.actions?.outcomes.map(({ ok, error }) => [ok, error])).toEqual([
      [false, "timeout"],
      [false, "timeout"],
    ]);
    expect(answer.shortfall?.error).toBe("action_failed");
    await it.close();
  });
});
