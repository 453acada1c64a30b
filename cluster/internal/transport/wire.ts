/**
 * A message on its way: it fits its contract, it is JSON, and it is not too long. The same rules hold inside one
 * process, so that a live object or a Date cannot slip through there and fail between two nodes.
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

/** Returns the value, or throws TypeError when it does not fit: a mistake in our code, hence no Fault. */
export function assertFits<T>(what: string, { check, describeErrors }: Validator, value: T): T {
  if (!check(value))
    throw new TypeError(`Cannot send ${what}: it does not fit its contract (${describeErrors(value)})`);
  return value;
}

/** The value at the other end of a wire: a copy, with its size and shape checked. */
export const copyOverWire = (what: string, expected: Validator, value: unknown): unknown =>
  measuredCopy(what, expected, value).copy;

/** A copy as by `copyOverWire`, with the number of characters of its JSON. */
export function measuredCopy(
  what: string,
  expected: Validator,
  value: unknown,
): { readonly copy: unknown; readonly chars: number } {
  const isPlain = value === null || value === undefined || typeof value === "boolean";
  const text = isPlain ? undefined : (JSON.stringify(value) as string | undefined);
  if (text === undefined) return { copy: assertFits(what, expected, value), chars: 0 };
  assertSize(what, text);
  return { copy: assertFits(what, expected, JSON.parse(text) as unknown), chars: text.length };
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
