/**
 * The caller's steps in a page of the browser, each within its time: what it did, how long it took with the page that it led to, and
 * for one that failed what the page showed. Nothing of what a caller typed is in an outcome; a secret is typed into pages of its origin only. When a page has settled is page-rendering.ts.
 */
import {
  type Action,
  type ActionError,
  type ActionType,
  type FailedPage,
  MAX_ACTION_FILES_BYTES,
  MAX_ACTIONS_MS,
  MAX_PDF_BYTES,
  MAX_SCROLLS,
  MAX_VALUE_BYTES,
  MAX_VALUES_BYTES,
  STEPS,
  type StoredOutcome,
} from "../../../../schemas/actions.ts";
import { sha256Of } from "../../../../cluster/ports/blobs.ts";
import type { TypedSecret } from "../../../lib/web/session-secrets.ts";
import { scriptFunction } from "../../../lib/web/actions-check.ts";
import { originOf } from "../../../lib/web/url.ts";
import type { TakenActions } from "../../../lib/web/transport.ts";
import type { PageLease } from "./browser-pool.ts";
import { LATE, pause, within } from "./in-time.ts";
import { inIsolation } from "./isolation.ts";
import type { NetworkActivity } from "./page-readiness.ts";
import type { ScreenshotResult } from "./screenshot.ts";

/** The page of the steps. */
export interface ActingPage extends Pick<PageLease, "page" | "cdp"> {
  /** By name, those that steps type. */
  readonly secrets: ReadonlyMap<string, TypedSecret>;
  readonly network: NetworkActivity;
  /** The id of the main frame. */
  readonly frame: string;
  readonly now: () => number;
  /** Rest of the request's time. */
  readonly left_ms: () => number;
  readonly isOver: () => boolean;
  /** After a step: the page that it leads to, if it does, is worth reading. */
  readonly settle: () => Promise<void>;
  readonly takePicture: (full_page: boolean) => Promise<ScreenshotResult>;
}

export interface ActionsResult {
  readonly taken: TakenActions;
  /** Why a step that had to succeed did not; null: all that had to did. */
  readonly failure: string | null;
}

/** Why a step failed, and a sentence. */
class StepFailure extends Error {
  readonly code: ActionError;
  constructor(code: ActionError, detail: string) {
    super(detail);
    this.code = code;
  }
}

type Done = Pick<StoredOutcome, "value" | "screenshot" | "pdf">;

interface Step {
  readonly action: Action;
  readonly on: ActingPage;
  readonly timeout_ms: number;
  readonly files: Files;
}

const QUIET_MS = 500;
const LOOK_EVERY_MS = 50;
/** After each turn of the wheel. */
const SCROLL_PAUSE_MS = 250;
const SCROLL_QUIET_MS = 1_000;
/** Looks at a page that does not grow: while it loads nothing, and whatever it loads. */
const STILL_LOOKS = 3;
const STILL_LOOKS_LOADING = 12;
const MAX_ELEMENTS = 50_000;
/** For looking at a page whose step has failed. */
const LOOK_MS = 2_000;
const SHOWN_CHARS = 2_000;
const DETAIL_CHARS = 300;
const LEFT = /navigated|context was destroyed|Cannot find (?:context|default execution)|target closed/i;

const TAKE: Readonly<Record<ActionType, (step: Step) => Promise<Done | void>>> = {
  click: (step) => targetOf(step).click({ timeout: step.timeout_ms, noWaitAfter: true }),
  type: (step) =>
    step.action.secret === undefined
      ? targetOf(step).fill(step.action.text!, { timeout: step.timeout_ms })
      : typeSecret(step, step.action.secret),
  async press(step) {
    const key = step.action.key!;
    if (step.action.selector === undefined) await step.on.page.keyboard.press(key);
    else await targetOf(step).press(key, { timeout: step.timeout_ms, noWaitAfter: true });
  },
  async select(step) {
    await targetOf(step).selectOption(step.action.value!, { timeout: step.timeout_ms });
  },
  scroll: scrollToEnd,
  wait: waitFor,
  screenshot: picture,
  evaluate,
  pdf: printed,
};

/** Never throws but for a bug. */
export async function takeActions(actions: readonly Action[], on: ActingPage): Promise<ActionsResult> {
  const files = filesOf();
  const outcomes: StoredOutcome[] = [];
  const until_ms = on.now() + MAX_ACTIONS_MS;
  for (const [index, action] of actions.entries()) {
    if (on.isOver()) break;
    const left_ms = Math.min(until_ms - on.now(), on.left_ms());
    const outcome = await takeOne({ action, on, files, timeout_ms: left_ms }, index);
    outcomes.push(outcome);
    if (!outcome.ok && action.optional !== true) {
      const what = action.selector === undefined ? "" : ` "${action.selector}"`;
      const failure = `actions[${index}] (${action.type}${what}): ${outcome.detail ?? outcome.error}`;
      return { taken: { outcomes, files: files.taken }, failure };
    }
  }
  return { taken: { outcomes, files: files.taken }, failure: null };
}

async function takeOne(given: Step, index: number): Promise<StoredOutcome> {
  const { action, on } = given;
  const { type } = action;
  const began_ms = on.now();
  const wanted_ms = action.timeout_ms ?? Math.max(STEPS[type].timeout_ms, (action.ms ?? 0) + 1_000);
  const step = { ...given, timeout_ms: Math.min(wanted_ms, given.timeout_ms) };
  const ended = (more: Pick<StoredOutcome, "ok" | "error"> & Partial<StoredOutcome>): StoredOutcome => ({
    index,
    type,
    ms: Math.round(on.now() - began_ms),
    url: on.page.url() || null,
    ...more,
  });
  try {
    if (step.timeout_ms <= 0) throw new StepFailure("timeout", "The time of the steps was over");
    // A page whose script does not end answers nothing.
    const done = await within(TAKE[type](step), step.timeout_ms + LOOK_EVERY_MS);
    if (done === LATE) throw new StepFailure("timeout", `It took more than ${step.timeout_ms} ms`);
    if (STEPS[type].acts) await on.settle();
    return ended({ ok: true, error: null, ...done });
  } catch (problem) {
    const page = await shownBy(step);
    const { code, message } = failureOf(problem, step, page);
    const shown = on.isOver() ? null : await pictureOf(step, false).catch(() => null);
    return ended({
      ok: false,
      error: code,
      detail: message,
      ...(page !== null && { page }),
      ...(shown !== null && { screenshot: shown }),
    });
  }
}

/** The first visible element, looked for anew at each try: a menu may hide again. */
const targetOf = ({ action, on }: Step) =>
  on.page.locator(`css=${action.selector!}`).filter({ visible: true }).first();

function failureOf(
  problem: unknown,
  { action: { selector, type, key }, timeout_ms }: Step,
  page: FailedPage | null,
): { readonly code: ActionError; readonly message: string } {
  if (problem instanceof StepFailure) return problem;
  const text = problem instanceof Error ? problem.message : String(problem);
  const failed = (code: ActionError, message: string) => ({ code, message });
  if (type === "press" && /Unknown key/.test(text)) return failed("failed", `There is no key "${key}"`);
  if (!/Timeout \d+ms exceeded/.test(text)) return failed("failed", causeOf(text));
  const of = `${timeout_ms} ms`;
  if (selector === undefined || page === null) return failed("timeout", `It took more than ${of}`);
  if (page.matches === 0) return failed("not_found", `No element matches "${selector}" within ${of}`);
  if (page.visible === 0)
    return failed("not_visible", `No element that matches "${selector}" was visible within ${of}`);
  if (type === "select") return failed("not_found", `The list "${selector}" has no such option`);
  if (page.covered_by !== null)
    return failed("covered", `"${page.covered_by}" lies over the element that matches "${selector}"`);
  return failed("disabled", `The element that matches "${selector}" took no ${type} within ${of}`);
}

/** Playwright's own words have the selector and the typed text below the first line. */
const causeOf = (text: string): string =>
  /not an? <|Element is not|unexpected token|not a valid selector|did not find some options/i
    .exec(text)?.[0]
    .slice(0, DETAIL_CHARS) ?? "The browser could not do it";

/**
 * Into one element of one document: what is typed does not go into the page that the one which was looked at leads to. The
 * browser says the origin, since scripts of a page can make the page say another one.
 */
async function typeSecret(step: Step, name: string): Promise<void> {
  const { on, timeout_ms } = step;
  const secret = on.secrets.get(name);
  if (secret === undefined)
    throw new StepFailure("secret_not_found", `The session has no secret "${name}" any more`);
  const until_ms = on.now() + timeout_ms;
  while (on.now() < until_ms) {
    const timeout = until_ms - on.now();
    const field = await targetOf(step).elementHandle({ timeout });
    const frame = await field?.ownerFrame();
    if (!field || !frame) continue;
    const origin = originOf(frame.url());
    if (origin !== secret.origin)
      throw new StepFailure(
        "secret_of_another_origin",
        `The secret "${name}" is for ${secret.origin}, and the page is of ${origin}`,
      );
    try {
      // A picture of the page has dots in place of what is typed.
      await field.evaluate((element: TypedInto) =>
        element.style.setProperty("-webkit-text-security", "disc", "important"),
      );
      return await field.fill(secret.value, { timeout });
    } catch (problem) {
      // The page has put another element in its place.
      if (!/not attached/.test(String(problem))) throw problem;
    }
  }
  throw new StepFailure("timeout", `It took more than ${timeout_ms} ms`);
}

async function waitFor(step: Step): Promise<void> {
  const { action, on, timeout_ms } = step;
  if (action.ms !== undefined) return pause(action.ms);
  if (action.selector !== undefined) return targetOf(step).waitFor({ state: "visible", timeout: timeout_ms });
  const until_ms = on.now() + timeout_ms;
  while (on.network.quiet_ms() < QUIET_MS) {
    if (on.now() >= until_ms || on.isOver())
      throw new StepFailure("timeout", `The page went on loading for ${timeout_ms} ms`);
    await pause(LOOK_EVERY_MS);
  }
}

/** Turns the wheel, as lists that fill themselves listen for that, until nothing changes any more; then once up and down. */
async function scrollToEnd(step: Step): Promise<Done> {
  const { action, on, timeout_ms } = step;
  const { page, network } = on;
  const box = action.selector === undefined ? null : await boxOf(step);
  const { width, height } = page.viewportSize()!;
  const { x, y } = box ?? { x: width / 2, y: height / 2 };
  await page.mouse.move(x, y);
  const until_ms = on.now() + timeout_ms - SCROLL_QUIET_MS;
  const most = action.max_scrolls ?? MAX_SCROLLS;
  let scrolls = 0;
  let still = 0;
  let last = "";
  let wasNudged = false;
  while (scrolls < most && on.now() < until_ms && !on.isOver()) {
    await page.mouse.wheel(0, 0.8 * height);
    scrolls++;
    await pause(SCROLL_PAUSE_MS);
    const look = await lookAtScroll(on);
    still = look.key === last ? still + 1 : 0;
    last = look.key;
    if (look.elements > MAX_ELEMENTS) break;
    const isStill = still >= STILL_LOOKS && network.quiet_ms() >= SCROLL_QUIET_MS;
    if (!isStill && still < STILL_LOOKS_LOADING) continue;
    if (wasNudged) return { value: { scrolls, is_end: true } };
    wasNudged = true;
    still = 0;
    await page.mouse.wheel(0, -100);
  }
  return { value: { scrolls, is_end: false } };
}

async function boxOf(step: Step): Promise<{ readonly x: number; readonly y: number }> {
  const target = targetOf(step);
  await target.scrollIntoViewIfNeeded({ timeout: step.timeout_ms });
  const box = await target.boundingBox({ timeout: step.timeout_ms });
  if (box === null) throw new StepFailure("not_visible", `Nothing of "${step.action.selector}" is visible`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

const lookAtScroll = async (on: ActingPage) =>
  // The document was just replaced.
  (await inIsolation(on, scrollState).catch(() => null)) ?? { key: "", elements: 0 };

async function picture(step: Step): Promise<Done> {
  return { screenshot: await pictureOf(step, step.action.full_page === true) };
}

async function pictureOf({ on, files }: Step, full_page: boolean): Promise<NonNullable<Done["screenshot"]>> {
  const taken = await on.takePicture(full_page);
  if (taken.kind === "failed") throw new StepFailure("failed", taken.detail);
  const { bytes, content_type, width, height } = taken.screenshot;
  return { sha256: files.add(bytes, content_type), content_type, width, height };
}

async function printed({ on: { cdp }, files }: Step): Promise<Done> {
  const { stream } = await cdp.send("Page.printToPDF", {
    printBackground: true,
    preferCSSPageSize: true,
    transferMode: "ReturnAsStream",
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let isEnd = false; !isEnd;) {
    const { data, base64Encoded, eof } = await cdp.send("IO.read", { handle: stream!, size: 2 ** 20 });
    pieces.push(Buffer.from(data, base64Encoded === true ? "base64" : "utf8"));
    bytes += pieces.at(-1)!.length;
    isEnd = eof;
    if (bytes > MAX_PDF_BYTES) break;
  }
  await cdp.send("IO.close", { handle: stream! });
  if (bytes > MAX_PDF_BYTES)
    throw new StepFailure("too_large", `The PDF has more than ${MAX_PDF_BYTES} bytes`);
  return { pdf: { sha256: files.add(Buffer.concat(pieces), "application/pdf"), bytes } };
}

/** In the world of the page's scripts: it can do what they can, and no more. */
async function evaluate({ action, on: { cdp }, timeout_ms, files }: Step): Promise<Done> {
  const call = cdp.send("Runtime.evaluate", {
    expression: `(${valueOf.toString()})(${scriptFunction(action.script!)}, ${MAX_VALUE_BYTES})`,
    awaitPromise: true,
    returnByValue: true,
  });
  const answer = await within(
    call.catch((problem: unknown) => {
      if (LEFT.test(String(problem))) return null;
      throw problem;
    }),
    timeout_ms,
  );
  if (answer === LATE) {
    await within(cdp.send("Runtime.terminateExecution"), LOOK_MS);
    throw new StepFailure("timeout", `The script took more than ${timeout_ms} ms`);
  }
  // The script led the page away.
  if (answer === null) return { value: null };
  const { result, exceptionDetails } = answer;
  if (exceptionDetails !== undefined) {
    const said = exceptionDetails.exception?.description ?? exceptionDetails.text;
    if (LEFT.test(said)) return { value: null };
    throw new StepFailure("script_failed", said.split("\n", 1)[0]!.slice(0, DETAIL_CHARS));
  }
  const json = result.value as string | number;
  if (typeof json === "number" || Buffer.byteLength(json) > MAX_VALUE_BYTES)
    throw new StepFailure("too_large", `The value has more than ${MAX_VALUE_BYTES} bytes as JSON`);
  files.addValue(json);
  return { value: JSON.parse(json) as unknown };
}

/** Null: the page does not answer. */
async function shownBy({ on, action }: Step): Promise<FailedPage | null> {
  const shown = await within(
    inIsolation(on, describePage, action.selector ?? null, SHOWN_CHARS).catch(() => null),
    LOOK_MS,
  );
  return shown === LATE ? null : (shown ?? null);
}

interface Files {
  readonly taken: TakenActions["files"];
  /** Its digest. Throws StepFailure. */
  readonly add: (bytes: Buffer, content_type: string) => string;
  readonly addValue: (json: string) => void;
}

function filesOf(): Files {
  const taken: { sha256: string; content_type: string; bytes: Buffer }[] = [];
  let total = 0;
  let values = 0;
  return {
    taken,
    add(bytes, content_type) {
      total += bytes.length;
      if (total > MAX_ACTION_FILES_BYTES)
        throw new StepFailure(
          "too_large",
          `The pictures and PDFs of all steps have more than ${MAX_ACTION_FILES_BYTES} bytes`,
        );
      const sha256 = sha256Of(bytes);
      taken.push({ sha256, content_type, bytes });
      return sha256;
    },
    addValue(json) {
      values += json.length;
      if (values > MAX_VALUES_BYTES)
        throw new StepFailure(
          "too_large",
          `The values of all steps have more than ${MAX_VALUES_BYTES} characters`,
        );
    },
  };
}

// These run in the page, so they cannot use anything from this file.

/** The value as JSON, or how long that would be. */
async function valueOf(script: () => Promise<unknown>, max_chars: number): Promise<string | number> {
  const json = JSON.stringify((await script()) ?? null) ?? "null";
  return json.length > max_chars ? json.length : json;
}

/** Where everything that scrolls stands, and how much there is. */
function scrollState(): { key: string; elements: number } {
  const all = document.querySelectorAll("*");
  let at = 0;
  let heights = 0;
  for (const element of all) {
    if (element.scrollHeight <= element.clientHeight) continue;
    at += element.scrollTop;
    heights += element.scrollHeight;
  }
  return { key: `${Math.round(at)} ${heights} ${all.length}`, elements: all.length };
}

function describePage(selector: string | null, max_chars: number): FailedPage {
  const shown = { title: document.title, text: (document.body?.innerText ?? "").slice(0, max_chars) };
  const nothing = { matches: null, visible: null, covered_by: null };
  let found: ShownElement[];
  try {
    if (selector === null) return { ...shown, ...nothing };
    found = [...document.querySelectorAll(selector)];
  } catch {
    return { ...shown, ...nothing };
  }
  const seen = found.filter((element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && getComputedStyle(element).visibility === "visible";
  });
  const first = seen[0];
  let covered_by: string | null = null;
  if (first) {
    const { left, top, width, height } = first.getBoundingClientRect();
    const over = document.elementFromPoint(left + width / 2, top + height / 2);
    if (over && !first.contains(over) && !over.contains(first))
      covered_by = (over.tagName.toLowerCase() + (over.id && `#${over.id}`)).slice(0, 200);
  }
  return { ...shown, matches: found.length, visible: seen.length, covered_by };
}

interface ShownElement {
  readonly tagName: string;
  readonly id: string;
  readonly scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
  readonly contains: (other: ShownElement) => boolean;
  readonly getBoundingClientRect: () => {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
}

interface TypedInto {
  readonly style: { readonly setProperty: (name: string, value: string, priority: string) => void };
}

declare const document: {
  readonly title: string;
  readonly body: { readonly innerText: string } | null;
  readonly querySelectorAll: (selector: string) => Iterable<ShownElement> & { readonly length: number };
  readonly elementFromPoint: (x: number, y: number) => ShownElement | null;
};
declare const getComputedStyle: (element: ShownElement) => { readonly visibility: string };
