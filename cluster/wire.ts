/**
 * A message as it travels: it fits its contract, it is JSON, and it is not too long. The same rules hold inside one
 * process, so that a live object or a Date cannot slip through there and fail on a wire.
 */
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { Contract, Operation } from "../schemas/contract.ts";
import { MAX_ENVELOPE_BYTES } from "./ports/bus.ts";
import { Fault } from "./ports/fault.ts";

export interface Validator {
  readonly check: (value: unknown) => boolean;
  /** What does not fit, for the error's text: the first places and why, without their values. */
  readonly describeErrors: (value: unknown) => string;
}

export interface OperationValidators {
  readonly kind: Operation["kind"];
  readonly message: Validator;
  /** null: a tell is not answered. */
  readonly reply: Validator | null;
}

function compileValidator(schema: TSchema): Validator {
  // Compiled once: 0.04 µs a check, against 4.5 µs when the schema is walked each time.
  const compiled = Compile(schema);
  return {
    check: (value) => compiled.Check(value),
    describeErrors: (value) =>
      compiled
        .Errors(value)
        .slice(0, 3)
        .map(({ instancePath, message }) => `${instancePath || "/"} ${message}`)
        .join(", "),
  };
}

const validators = new WeakMap<object, OperationValidators>();

/** What an operation of this contract carries and answers; an assertion fails when there is no such operation. */
export function validatorsOf(of: Contract<unknown>, operation: string): OperationValidators {
  const declared = (of.operations as Readonly<Record<string, Operation>>)[operation];
  if (!declared)
    throw new TypeError(`Cannot address "${of.name}.${operation}": its contract has no such operation`);
  const existing = validators.get(declared);
  if (existing) return existing;
  const { kind, message } = declared;
  const compiled_validators = {
    kind,
    message: compileValidator(message),
    reply: kind === "ask" ? compileValidator(declared.reply) : null,
  };
  validators.set(declared, compiled_validators);
  return compiled_validators;
}

function assertSize(what: string, text: string): void {
  // A UTF-16 unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 <= MAX_ENVELOPE_BYTES) return;
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_ENVELOPE_BYTES)
    throw new Fault(
      "message_too_large",
      `Cannot send ${what}: ${bytes} bytes are more than ${MAX_ENVELOPE_BYTES}`,
    );
}

/** Says no when it does not fit: a mistake in our code, hence no Fault. */
export function assertFits<T>(what: string, { check, describeErrors: complaint }: Validator, value: T): T {
  if (!check(value))
    throw new TypeError(`Cannot send ${what}: it does not fit its contract (${complaint(value)})`);
  return value;
}

/** What comes out at the other end of a wire: a copy, measured and checked. */
export function copyOverWire(what: string, expected: Validator, value: unknown): unknown {
  if (value === null || typeof value === "boolean") return assertFits(what, expected, value);
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return assertFits(what, expected, value);
  assertSize(what, text);
  return assertFits(what, expected, JSON.parse(text) as unknown);
}
