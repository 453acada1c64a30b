/**
 * Steps in a page of the route browser before it is read: what the caller clicks, types and waits for, and what came of each. They change
 * what is at the site, so they are sent once, and their page belongs to one project.
 */
import { type Static, Type } from "typebox";
import { Component, Field, Nullable, Sha256 } from "./common.ts";
import { CssSelector } from "./css-selector.ts";

export const ACTION_TYPES = [
  "click",
  "type",
  "press",
  "select",
  "scroll",
  "wait",
  "screenshot",
  "evaluate",
  "pdf",
] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

export const MAX_ACTIONS = 50;
/** All steps of a page together. */
export const MAX_ACTIONS_MS = 60_000;
const MAX_STEP_MS = 30_000;
export const MAX_SCROLLS = 100;
/** The value of one `evaluate` as JSON. */
export const MAX_VALUE_BYTES = 262_144;
/** The values of all steps of a page. */
export const MAX_VALUES_BYTES = 2 ** 20;
export const MAX_PDF_BYTES = 16 * 2 ** 20;
/** Pictures and PDFs of all steps of a page. */
export const MAX_ACTION_FILES_BYTES = 32 * 2 ** 20;

const optional = <S extends Parameters<typeof Field>[0]>(schema: S, sentence: string, example?: unknown) =>
  Type.Optional(Field(schema, sentence, example));

/** A step of a page; its type says which fields it has. */
export const Action = Component("Action", {
  type: Field(
    Type.Enum([...ACTION_TYPES]),
    "`click`, `type` (into a field), `press` (a key), `select` (an option), `scroll` (to the end), `wait`, `screenshot`, `evaluate` (a script), `pdf`",
  ),
  selector: optional(
    CssSelector,
    "click, type, select: the first visible element that matches. press: the element that gets the key (default: the focused one). " +
      "scroll: the element to scroll (default: the page). wait: until an element that matches is visible",
    "#more",
  ),
  text: optional(Type.String({ maxLength: 10_000 }), "type: what the field has then", "lamp"),
  secret: optional(
    Type.String({ minLength: 1, maxLength: 64 }),
    "type: instead of `text` the name of a secret of the session, which is typed into pages of its origin only",
    "password",
  ),
  key: optional(
    Type.String({ minLength: 1, maxLength: 60 }),
    "press: a key as in KeyboardEvent.key, with modifiers before it",
    "Control+A",
  ),
  value: optional(Type.String({ maxLength: 1_000 }), "select: the value of the option, or its words", "blue"),
  idle: optional(Type.Literal(true), "wait: until no request has been in flight for half a second"),
  ms: optional(Type.Integer({ minimum: 0, maximum: MAX_STEP_MS }), "wait: so many milliseconds", 500),
  max_scrolls: optional(
    Type.Integer({ minimum: 1, maximum: MAX_SCROLLS, default: MAX_SCROLLS }),
    "scroll: the most turns of the wheel, each of 0.8 windows. It ends before where the page does not grow any more",
  ),
  full_page: optional(
    Type.Boolean({ default: false }),
    "screenshot: from top to bottom, instead of the window",
  ),
  script: optional(
    Type.String({ minLength: 1, maxLength: 16_384 }),
    "evaluate: an expression, or the body of an async function with `return`; its value as JSON has at most 262,144 bytes",
    "document.title",
  ),
  timeout_ms: optional(
    Type.Integer({ minimum: 100, maximum: MAX_STEP_MS }),
    "How long the step may take. Default: 5,000; scroll and pdf 30,000. All steps have 60,000 together",
    5_000,
  ),
  optional: optional(
    Type.Boolean({ default: false }),
    "true: the steps after it are taken also when it fails",
  ),
});
export type Action = Static<typeof Action>;

/** An option of a fetch. */
export const ACTION_FIELDS = {
  actions: Type.Optional(
    Field(
      Nullable(Type.Array(Action, { maxItems: MAX_ACTIONS })),
      "Steps in the page before it is read, in their order; takes the route browser only. The answer belongs to the project, and is not cached unless `cache_private` is true. In a crawl: on pages of the origin of its first seed",
      [
        { type: "type", selector: "#query", text: "lamp" },
        { type: "press", key: "Enter" },
        { type: "wait", selector: ".result" },
      ],
    ),
  ),
};

/** Fields of a step besides `type`, `timeout_ms` and `optional`. */
interface StepFields {
  readonly needs?: readonly (keyof Action)[];
  readonly may?: readonly (keyof Action)[];
  /** Exactly one of these. */
  readonly one?: readonly (keyof Action)[];
  /** How long it may take where the caller says nothing. */
  readonly timeout_ms: number;
  /** It may change what is at the site. */
  readonly acts: boolean;
}

export const STEPS: Readonly<Record<ActionType, StepFields>> = {
  click: { needs: ["selector"], timeout_ms: 5_000, acts: true },
  type: { needs: ["selector"], one: ["text", "secret"], timeout_ms: 5_000, acts: true },
  press: { needs: ["key"], may: ["selector"], timeout_ms: 5_000, acts: true },
  select: { needs: ["selector", "value"], timeout_ms: 5_000, acts: true },
  scroll: { may: ["selector", "max_scrolls"], timeout_ms: MAX_STEP_MS, acts: false },
  wait: { one: ["selector", "idle", "ms"], timeout_ms: 5_000, acts: false },
  screenshot: { may: ["full_page"], timeout_ms: 10_000, acts: false },
  evaluate: { needs: ["script"], timeout_ms: 5_000, acts: true },
  pdf: { timeout_ms: MAX_STEP_MS, acts: false },
};

/** Whether a page with these steps must not be sent twice. */
export const isActing = (actions: readonly Action[]): boolean => actions.some(({ type }) => STEPS[type].acts);

/** The names of the secrets that the steps type. */
export const secretNames = (actions: readonly Action[]): readonly string[] =>
  actions.flatMap(({ secret }) => secret ?? []);

/** Whether a step shows the page as people see it. */
export const isPictured = (actions: readonly Action[]): boolean =>
  actions.some(({ type }) => type === "screenshot" || type === "pdf");

export const ACTION_ERRORS = [
  "not_found",
  "not_visible",
  "covered",
  "disabled",
  "timeout",
  "script_failed",
  "too_large",
  "secret_not_found",
  "secret_of_another_origin",
  "failed",
] as const;
export type ActionError = (typeof ACTION_ERRORS)[number];

const pictureFields = {
  sha256: Sha256,
  content_type: Field(Type.String(), "Its format", "image/png"),
  width: Field(Type.Integer(), "In pixels", 1280),
  height: Field(Type.Integer(), "In pixels", 720),
};
const pdfFields = { sha256: Sha256, bytes: Field(Type.Integer(), "Its size", 48_211) };

/** The page as it was when a step failed. */
export const FailedPage = Component("FailedPage", {
  title: Field(Type.String(), "Its title", "Log in"),
  text: Field(Type.String(), "Its first 2,000 characters as they are shown", "Wrong password"),
  matches: Field(Nullable(Type.Integer()), "Elements that match the selector of the step", 1),
  visible: Field(Nullable(Type.Integer()), "Of these, the visible ones", 1),
  covered_by: Field(
    Nullable(Type.String()),
    "The element that lies over the first visible one",
    "div#consent",
  ),
});
export type FailedPage = Static<typeof FailedPage>;

const outcomeFields = {
  index: Field(Type.Integer({ minimum: 0 }), "Its place in `actions` of the request", 0),
  type: Field(Type.Enum([...ACTION_TYPES]), "Its type"),
  ok: Field(Type.Boolean(), "Whether it did what it should", true),
  ms: Field(Type.Integer(), "How long it took, in milliseconds, with the page that it led to", 240),
  error: Field(Nullable(Type.Enum([...ACTION_ERRORS])), "Why it failed", "not_found"),
  detail: Type.Optional(
    Field(Type.String(), "The same as a sentence for people", 'No element matches "#more"'),
  ),
  url: Field(Nullable(Type.String()), "The address of the page after it", "https://example.org/shop"),
  value: Type.Optional(
    Field(
      Type.Unknown(),
      "Of `evaluate`: its value; null where the script led the page away. Of `scroll`: how many turns, and whether the end was reached",
      "Example",
    ),
  ),
  page: Type.Optional(Field(FailedPage, "Of a step that failed")),
};

export const StoredOutcome = Type.Object({
  ...outcomeFields,
  screenshot: Type.Optional(Type.Object(pictureFields)),
  pdf: Type.Optional(Type.Object(pdfFields)),
});
export type StoredOutcome = Static<typeof StoredOutcome>;

const body_url = Field(Type.String(), "Where it is downloaded, for 30 days", "/v1/bodies/2c26b46b68ffc68f…");
/** Outcome of a step. Steps after one that failed are not taken, and not listed. */
export const ActionOutcome = Component("ActionOutcome", {
  ...outcomeFields,
  screenshot: Type.Optional(
    Field(
      Component("ActionScreenshot", { body_url, ...pictureFields }),
      "Of the step `screenshot`, and of the window when a step failed",
    ),
  ),
  pdf: Type.Optional(Field(Component("ActionPdf", { body_url, ...pdfFields }), "Of the step `pdf`")),
});
export type ActionOutcome = Static<typeof ActionOutcome>;

/** Steps in the record of a page: their outcomes as JSON in the body store, and their pictures and PDFs. */
export const StoredActions = Type.Object({
  outcomes_sha256: Sha256,
  files: Type.Array(Type.Object({ sha256: Sha256, content_type: Type.String() })),
});
export type StoredActions = Static<typeof StoredActions>;
