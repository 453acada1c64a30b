/**
 * Tokens: a slice exports one for each value that it gives to others (`feature/tokens.ts`). A feature declares the tokens
 * that it needs and provides; start-order.ts makes the order of the start from them.
 */

/** A token of a value that exactly one feature provides. */
export interface Token<T> {
  readonly kind: "one";
  /** For messages of the start: "page index". */
  readonly name: string;
  /** Only a type. */
  readonly value?: T;
}

/** Values of any number of features; a feature that needs it starts after all of them. */
export interface Gathered<T> {
  readonly kind: "gathered";
  readonly name: string;
  /** Only a type. */
  readonly value?: T;
}

export const token = <T>(name: string): Token<T> => ({ kind: "one", name });
export const gathered = <T>(name: string): Gathered<T> => ({ kind: "gathered", name });

/** By the names that a feature has for them. */
export type Tokens = Readonly<Record<string, Token<unknown> | Gathered<unknown>>>;

/** The values of tokens by the same names. */
export type Values<N extends Tokens> = {
  readonly [Name in keyof N]: N[Name] extends Token<infer T>
    ? T
    : N[Name] extends Gathered<infer T>
      ? readonly T[]
      : never;
};
