/**
 * Secrets that are stored: webhook secrets, and addresses that may hold passwords. A slice seals a text before it stores or sends
 * it, and opens it where it is used.
 */
import { maskAddresses } from "./mask.ts";
import { Fault } from "./fault.ts";

/** Where a sealed text stands. It opens nowhere else. */
export interface SecretPlace {
  readonly collection: string;
  readonly key: string;
  readonly field: string;
}

export interface Secrets {
  /** The text encrypted with the current key, as printable text. */
  readonly seal: (text: string, place: SecretPlace) => string;
  /**
   * The text. What was stored before texts were sealed is returned as it is. Throws Fault secret_unreadable when the sealed text was
   * changed, cut or moved, or when this node has not its key.
   */
  readonly open: (stored: string, place: SecretPlace) => string;
  /** The text sealed with the current key; `stored` itself where it is already. Throws Fault secret_unreadable. */
  readonly reseal: (stored: string, place: SecretPlace) => string;
  /** Signs a text for one purpose. The signature is of 43 characters that need no escape in an address. */
  readonly sign: (purpose: string, text: string) => string;
  /** Whether a signature is one of `sign`, with the current key or a former one that is still kept. */
  readonly isSigned: (purpose: string, text: string, signature: string) => boolean;
}

/** A collection with sealed texts, declared by its feature so that a change of the key finds them. */
export interface SealedCollection {
  /**
   * The document with each sealed text passed through `reseal`, and its options. Null: the document goes, because one of them is
   * given up (`reseal` answered null) and the rest is of no use without it.
   */
  readonly rewrite: (
    document: { readonly key: string; readonly value: unknown },
    reseal: (stored: string, place: SecretPlace) => string | null,
  ) => {
    readonly value: unknown;
    readonly options: { readonly tag?: string; readonly expires_at_ms?: number };
  } | null;
}

/** A stored address as it is shown, its secrets masked. Null: no key of this node opens it. */
export function shownAddress(
  { open }: Pick<Secrets, "open">,
  stored: string,
  place: SecretPlace,
): string | null {
  try {
    return maskAddresses(open(stored, place));
  } catch (problem) {
    if (problem instanceof Fault) return null;
    throw problem;
  }
}

/** The recorded status of a delivery to an address that cannot be read. */
export const UNREADABLE_STATUS = "error_secret_unreadable";
