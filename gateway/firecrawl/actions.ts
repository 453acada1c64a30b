/** Their steps in a page as ours, and what came of ours in their Document. */
import { type Static, Type } from "typebox";
import { type Action, MAX_ACTIONS } from "../../schemas/actions.ts";
import { notServed } from "./errors.ts";
import { type Option, option } from "./option.ts";

const Selector = Type.String({ minLength: 1 });
const Flag = Type.Boolean();
const step = <Name extends string, Fields extends Parameters<typeof Type.Object>[0]>(
  name: Name,
  fields: Fields,
) => Type.Object({ type: Type.Literal(name), ...fields }, { additionalProperties: false });

const TheirStep = Type.Union([
  step("wait", {
    milliseconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 30_000 })),
    selector: Type.Optional(Selector),
  }),
  step("click", { selector: Selector, all: Type.Optional(Flag) }),
  step("write", { text: Type.String() }),
  step("press", { key: Type.String({ minLength: 1 }) }),
  step("scroll", {
    direction: Type.Optional(Type.Enum(["up", "down"])),
    selector: Type.Optional(Selector),
  }),
  step("screenshot", {
    fullPage: Type.Optional(Flag),
    quality: Type.Optional(Type.Number()),
    viewport: Type.Optional(Type.Unknown()),
  }),
  step("scrape", {}),
  step("executeJavascript", { script: Type.String({ minLength: 1 }) }),
  step("pdf", {
    format: Type.Optional(Type.String()),
    landscape: Type.Optional(Flag),
    scale: Type.Optional(Type.Number()),
  }),
]);

/** Marks the value of a `scrape` among those of scripts: what came of a step does not say what the step was. */
const SCRAPE = "firecrawl.scrape";
const SCRAPE_SCRIPT = `({ is: "${SCRAPE}", url: location.href, html: document.documentElement.outerHTML })`;

/** Throws Refused. */
function ourStep(given: Static<typeof TheirStep>): Action {
  switch (given.type) {
    case "wait":
      if (given.selector !== undefined) return { type: "wait", selector: given.selector, timeout_ms: 30_000 };
      return { type: "wait", ms: given.milliseconds ?? 1_000 };
    case "click":
      if (given.all === true) throw notServed("actions: click takes the first element, not all of them");
      return { type: "click", selector: given.selector };
    case "write":
      return { type: "type", selector: ":focus", text: given.text };
    case "press":
      return { type: "press", key: given.key };
    case "scroll": {
      const where = given.selector !== undefined && { selector: given.selector };
      return given.direction === "up"
        ? { type: "press", key: "PageUp", ...where }
        : { type: "scroll", max_scrolls: 1, ...where };
    }
    case "screenshot":
      if (given.viewport != null) throw notServed("actions: a screenshot has the window of the page");
      return { type: "screenshot", full_page: given.fullPage === true };
    case "scrape":
      return { type: "evaluate", script: SCRAPE_SCRIPT };
    case "executeJavascript":
      return { type: "evaluate", script: given.script };
    case "pdf":
      return { type: "pdf" };
  }
}

export const actionsOption: Option = option(
  Type.Array(TheirStep, { maxItems: MAX_ACTIONS }),
  "`actions`: `wait` (30 s at most), `click`, `write` (into the focused field, whose text it replaces), `press`, `scroll` (one window; `up` presses PageUp), `screenshot`, `scrape` (256 KB at most), `executeJavascript`, `pdf`; `all`, `viewport` are refused, `quality`, `format`, `landscape`, `scale` without effect",
  (steps) => (steps.length === 0 ? {} : { actions: steps.map(ourStep) }),
);

/** An outcome as a fetch answers it. */
type Outcome = Readonly<Record<string, any>>;

/** Null: the page has no steps. */
export function actionsOf(outcomes: readonly Outcome[] | undefined, base: string): object | null {
  if (outcomes === undefined) return null;
  const done = outcomes.filter(({ ok }) => ok);
  const addressOf = ({ body_url }: { readonly body_url: string }): string => `${base}${body_url}`;
  const values = done.filter(({ type }) => type === "evaluate").map(({ value }) => value ?? null);
  const isScrape = (value: Outcome | null): boolean => value?.["is"] === SCRAPE;
  return {
    screenshots: done.flatMap(({ screenshot }) => (screenshot ? [addressOf(screenshot)] : [])),
    scrapes: values.filter(isScrape).map(({ url, html }) => ({ url, html })),
    javascriptReturns: values
      .filter((value) => !isScrape(value))
      .map((value) => ({ type: value === null ? "null" : typeof value, value })),
    pdfs: done.flatMap(({ pdf }) => (pdf ? [addressOf(pdf)] : [])),
  };
}
