/**
 * A message on its way: it fits its contract, it is JSON, it is not too long, and it is frozen. The same rules hold
 * inside one process, so that a live object or a Date cannot slip through there and fail between two nodes.
 */
import type { TSchema } from "typebox";
import { compiled } from "../../contracts/compiled.ts";
import type { Call, Contract, Operation, RoleContract } from "../../contracts/contract.ts";
import { MAX_ENVELOPE_BYTES } from "../../ports/bus.ts";
import { Fault } from "../../ports/fault.ts";

export interface Validator {
  readonly check: (value: unknown) => boolean;
  /** The parts that do not fit, for the error's text: the first places and why, without their values. */
  readonly describeErrors: (value: unknown) => string;
}

export interface OperationValidators {
  readonly kind: Operation["kind"];
  readonly message: Validator;
  /** null: a tell is not answered. */
  readonly reply: Validator | null;
  /** Fields of the message that are deadlines. */
  readonly deadlines: readonly string[];
}

function compileValidator(schema: TSchema): Validator {
  const validator = compiled(schema);
  return {
    check: (value) => validator.check(value),
    describeErrors: (value) =>
      validator
        .errors(value)
        .slice(0, 3)
        .map(({ instancePath, message }) => `${instancePath || "/"} ${message}`)
        .join(", "),
  };
}

function deadlinesOf(message: TSchema): readonly string[] {
  const { properties = {} } = message as { readonly properties?: Record<string, { isDeadline?: boolean }> };
  return Object.keys(properties).filter((name) => properties[name]!.isDeadline === true);
}

const cache = new WeakMap<Operation, OperationValidators>();

function compileOperation(operation: Operation): OperationValidators {
  const existing = cache.get(operation);
  if (existing) return existing;
  const validators: OperationValidators = {
    kind: operation.kind,
    message: compileValidator(operation.message),
    reply: operation.kind === "ask" ? compileValidator(operation.reply) : null,
    deadlines: deadlinesOf(operation.message),
  };
  cache.set(operation, validators);
  return validators;
}

type Operations = Readonly<Record<string, Operation>>;

/** The validators of a public operation's message and answer; throws TypeError when callers have no such operation. */
export function validatorsOf(of: Contract<unknown>, operation: string): OperationValidators {
  const declared = (of.operations as Operations)[operation];
  if (declared) return compileOperation(declared);
  if ((of.own as Operations)[operation])
    throw new TypeError(`Cannot address "${of.name}.${operation}": only the actor itself sends it`);
  throw new TypeError(`Cannot address "${of.name}.${operation}": its contract has no such operation`);
}

export interface CallValidators {
  readonly message: Validator;
  readonly question: Validator;
  readonly answer: Validator;
}

const callCache = new WeakMap<Call<any, any, any, any>, CallValidators>();

/** The validators of what an operation of an actor placed by role carries between nodes. */
export function callValidatorsOf(of: RoleContract<any>, operation: string): CallValidators {
  const declared = (of.operations as Readonly<Record<string, Call<any, any, any, any>>>)[operation]!;
  const existing = callCache.get(declared);
  if (existing) return existing;
  const { message, question, answer } = declared;
  const validators = {
    message: compileValidator(message),
    question: compileValidator(question),
    answer: compileValidator(answer),
  };
  callCache.set(declared, validators);
  return validators;
}

/** The validators of everything the actor handles: its operations and its own messages. */
export const allValidatorsOf = ({ operations, own }: Contract<unknown>): Map<string, OperationValidators> =>
  new Map(
    Object.entries({ ...(operations as Operations), ...(own as Operations) }).map(([name, operation]) => [
      name,
      compileOperation(operation),
    ]),
  );

/** Throws Fault message_too_large. */
export function assertSize(what: string, text: string): void {
  // A UTF-16 unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 <= MAX_ENVELOPE_BYTES) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_ENVELOPE_BYTES)
    throw new Fault(
      "message_too_large",
      `Cannot send ${what}: ${bytes} bytes are more than ${MAX_ENVELOPE_BYTES}`,
    );
}

/** In UTF-8, of one UTF-16 unit of a string in JSON: an escape such as "\\u0007" is the longest. */
const MAX_BYTES_OF_CHAR = 6;
/** As long as "-1.2345678901234567e-100", the longest. */
const NUMBER_CHARS = 24;
/** A deeper value, or one without an end, is for JSON.stringify to judge. */
const MAX_DEPTH = 100;

/**
 * The characters of a value's JSON before escapes, and not fewer; NaN: it is not what JSON would make of it. A page of 8 KB is counted and
 * frozen in 1.7 µs, and copied as JSON in 14.
 */
function jsonChars(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? NUMBER_CHARS : NaN;
  if (typeof value === "boolean") return 5;
  if (value === null) return 4;
  return typeof value === "object" && depth < MAX_DEPTH ? charsWithin(value, depth + 1) : NaN;
}

function charsWithin(value: object, depth: number): number {
  let chars = 2;
  if (Array.isArray(value)) {
    // By index, so that a hole is seen.
    for (let at = 0; at < value.length; at++) chars += 1 + jsonChars(value[at], depth);
    return chars;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return NaN;
  const fields = value as Readonly<Record<string, unknown>>;
  // Nothing is inherited; Object.entries, which makes arrays, takes half as long again.
  for (const name in fields) chars += name.length + 4 + jsonChars(fields[name], depth);
  return chars;
}

/** The value, and everything in it, can no longer change. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) for (const each of value) frozen(each);
  else for (const name in value) frozen(value[name]);
  return Object.freeze(value);
}

/** Returns the value, or throws TypeError when it does not fit: a mistake in our code, hence no Fault. */
export function assertFits<T>(what: string, { check, describeErrors }: Validator, value: T): T {
  if (!check(value))
    throw new TypeError(`Cannot send ${what}: it does not fit its contract (${describeErrors(value)})`);
  return value;
}

/** The message as its receiver gets it, in this process too: its size and shape checked, and frozen. */
export const sealed = (what: string, expected: Validator, value: unknown): unknown =>
  measuredSealed(what, expected, value).message;

/**
 * A message as by `sealed`, with about the number of characters of its JSON. Sender and receiver share what is JSON as it is:
 * nothing of it can change any more. Anything else (a Date, a field that is undefined) is copied, as a wire would change it.
 */
export function measuredSealed(
  what: string,
  expected: Validator,
  value: unknown,
): { readonly message: unknown; readonly chars: number } {
  const chars = jsonChars(value, 0);
  if (chars * MAX_BYTES_OF_CHAR <= MAX_ENVELOPE_BYTES)
    return { message: frozen(assertFits(what, expected, value)), chars };
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return { message: assertFits(what, expected, value), chars: 0 };
  assertSize(what, text);
  return { message: frozen(assertFits(what, expected, JSON.parse(text) as unknown)), chars: text.length };
}

interface Body {
  readonly key: string;
  readonly operation: string;
  readonly message: unknown;
  /** The span it was sent in; absent: nothing is traced. */
  readonly traceparent?: string | null | undefined;
}

/** The body of an envelope as it leaves now. Deadlines travel as what is left of them: the clocks of two nodes differ. */
export function encodeBody(body: Body, { deadlines }: OperationValidators, now_ms: number): string {
  return JSON.stringify(
    deadlines.length === 0 ? body : { ...body, message: shift(body.message, deadlines, -now_ms) },
  );
}

/** The message of a body that arrives now. Whether it fits its contract is not checked: another version may have sent it. */
export const decodeMessage = (
  message: unknown,
  { deadlines }: OperationValidators,
  now_ms: number,
): unknown => (deadlines.length === 0 ? message : shift(message, deadlines, now_ms));

function shift(message: unknown, names: readonly string[], by_ms: number): unknown {
  const shifted = { ...(message as Record<string, unknown>) };
  for (const name of names) if (typeof shifted[name] === "number") shifted[name] += by_ms;
  return shifted;
}
