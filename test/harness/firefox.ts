/** Debian's Firefox, driven by WebDriver BiDi (W3C) over its own WebSocket: no driver program and no library. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PATH = "/usr/bin/firefox-esr";
/** null where Debian's package `firefox-esr` is not installed. */
export const firefoxPath: string | null = existsSync(PATH) ? PATH : null;

export type Scheme = "light" | "dark";

export interface FirefoxPage {
  /** Loads the address at a width in CSS pixels; resolves after `load`. */
  open(url: string, width_px: number): Promise<void>;
  /** The width of the tab in CSS pixels, for the page that is open. */
  resize(width_px: number): Promise<void>;
  /** Presses the keys of a text in the element of a selector; a line feed is Enter. */
  type(selector: string, text: string): Promise<void>;
  /** The JSON value of an expression; promises are awaited. Throws where the page threw. */
  evaluate(expression: string): Promise<unknown>;
  /** Since the last call: errors of scripts and of the console, refusals by Content-Security-Policy, and the addresses asked for. */
  observed(): Promise<{ readonly complaints: readonly string[]; readonly addresses: readonly string[] }>;
  close(): Promise<void>;
}

const SCHEME_PREFERENCE = { dark: 0, light: 1 } as const;
const preferences = (scheme: Scheme): string =>
  Object.entries({
    "layout.css.prefers-color-scheme.content-override": SCHEME_PREFERENCE[scheme],
    "browser.shell.checkDefaultBrowser": false,
    "datareporting.policy.dataSubmissionEnabled": false,
    "app.normandy.enabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "services.settings.server": "data:,",
    "extensions.update.enabled": false,
  })
    .map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`)
    .join("");

/** The code of the key in WebDriver (W3C). */
const ENTER = "\uE007";

/** Sent up by the page itself: Firefox reports no refusal of a policy as an event of BiDi. */
const REPORT_REFUSALS = `() => {
  document.addEventListener("securitypolicyviolation", (event) =>
    console.error("Refused by Content-Security-Policy: " + event.effectiveDirective + " " + event.blockedURI));
}`;

/** A Firefox with a profile of its own and one tab, in a colour scheme. */
export async function startFirefox(scheme: Scheme): Promise<FirefoxPage> {
  const profile = await mkdtemp(join(tmpdir(), "trawl-firefox-"));
  await writeFile(join(profile, "user.js"), preferences(scheme));
  const child = spawn(
    PATH,
    ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"],
    { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } },
  );
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill();
    await exited;
    await rm(profile, { recursive: true, force: true, maxRetries: 3 });
  };
  const address = await new Promise<string>((resolve, reject) => {
    createInterface(child.stderr!).on("line", (line) => {
      const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`Cannot start Firefox: it exited with ${code}`)));
  });
  const complaints: string[] = [];
  const addresses: string[] = [];
  const { send, close } = await connect(`${address}/session`, (method, params) => {
    if (method === "log.entryAdded" && params.level === "error") complaints.push(params.text);
    // Without a context the request is Firefox's own, not the page's.
    if (method === "network.beforeRequestSent" && params.context !== null) addresses.push(params.request.url);
  });
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
  await send("script.addPreloadScript", { functionDeclaration: REPORT_REFUSALS });
  const context = (await send("browsingContext.getTree", {})).contexts[0].context;
  const resize = async (width_px: number): Promise<void> => {
    await send("browsingContext.setViewport", { context, viewport: { width: width_px, height: 900 } });
  };
  const evaluate = async (expression: string): Promise<unknown> => {
    const { type, result, exceptionDetails } = await send("script.evaluate", {
      expression: `(async () => JSON.stringify(await (${expression})) ?? "null")()`,
      target: { context },
      awaitPromise: true,
    });
    if (type !== "success") throw new Error(`Cannot evaluate "${expression}": ${exceptionDetails.text}`);
    return JSON.parse(result.value) as unknown;
  };
  return {
    resize,
    evaluate,
    type: async (selector, text) => {
      await evaluate(`document.querySelector(${JSON.stringify(selector)}).focus()`);
      const keys = Array.from(text, (character) => (character === "\n" ? ENTER : character));
      const actions = keys.flatMap((value) => ["keyDown", "keyUp"].map((type) => ({ type, value })));
      await send("input.performActions", { context, actions: [{ type: "key", id: "keyboard", actions }] });
    },
    open: async (url, width_px) => {
      await resize(width_px);
      await send("browsingContext.navigate", { context, url, wait: "complete" });
    },
    observed: async () => ({ complaints: complaints.splice(0), addresses: addresses.splice(0) }),
    close: async () => {
      close();
      await stop();
    },
  };
}

type Answer = Record<string, any>;

/** Commands and their answers by number; everything else is an event. */
async function connect(
  url: string,
  onEvent: (method: string, params: Answer) => void,
): Promise<{
  readonly send: (method: string, params: Answer) => Promise<Answer>;
  readonly close: () => void;
}> {
  const socket = new WebSocket(url);
  const waiting = new Map<
    number,
    { readonly resolve: (answer: Answer) => void; readonly reject: (problem: Error) => void }
  >();
  let sent = 0;
  socket.addEventListener("message", ({ data }) => {
    const { id, type, method, params, result, error, message } = JSON.parse(String(data)) as Answer;
    if (type === "event") return onEvent(method, params);
    const asked = waiting.get(id);
    waiting.delete(id);
    if (type === "success") asked?.resolve(result);
    else asked?.reject(new Error(`Cannot drive Firefox: ${error}: ${message}`));
  });
  socket.addEventListener("close", () => {
    for (const { reject } of waiting.values())
      reject(new Error("Cannot drive Firefox: the connection closed"));
    waiting.clear();
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error(`Cannot connect to Firefox at ${url}`)));
  });
  return {
    send: (method, params) =>
      new Promise((resolve, reject) => {
        sent += 1;
        waiting.set(sent, { resolve, reject });
        socket.send(JSON.stringify({ id: sent, method, params }));
      }),
    close: () => socket.close(),
  };
}
