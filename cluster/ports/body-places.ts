/** Where bodies are that share an object of a store: an index beside the objects, which a store of bodies keeps and asks. */

export interface BodyPlace {
  /** The name of the object. */
  readonly object: string;
  /** Position of the body's first byte in the object. */
  readonly offset: number;
  /** How many bytes it has there. */
  readonly length: number;
  /** Bytes of the body itself. */
  readonly bytes: number;
  /** Whether it is compressed there. */
  readonly packed: boolean;
  /** When the body was stored last, in Unix milliseconds. */
  readonly stored_ms: number;
}

/** A place as it was read. */
export interface KnownPlace {
  readonly sha256: string;
  readonly place: BodyPlace;
  readonly version: number;
}

/** A body has one place or none. All methods throw Fault "bodies_unreachable" and nothing else. */
export interface BodyPlaces {
  find(sha256: string): Promise<KnownPlace | null>;
  /** Replaces the place that there is. `known`: as it was read, which may have changed since. */
  put(sha256: string, place: BodyPlace, known: KnownPlace | null): Promise<void>;
  /** False: it has changed since it was read, and stays. */
  replace(known: KnownPlace, place: BodyPlace): Promise<boolean>;
  /** False: it has changed since it was read, and stays. */
  remove(known: KnownPlace): Promise<boolean>;
  /** Places of the bodies whose digests begin with these two hexadecimal digits. */
  list(digits: string): AsyncIterable<KnownPlace>;
  /** Places of the bodies in an object, at most 1,000. */
  within(object: string): Promise<readonly KnownPlace[]>;
}
