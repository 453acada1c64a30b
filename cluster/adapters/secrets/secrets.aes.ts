/**
 * Secrets by AES-256-GCM with node:crypto. A sealed text is `sealed:1:<key id>:<base64url of nonce, ciphertext and tag>`; its
 * place is authenticated with it. The keys of sealing and signing are derived from one key of 32 bytes (HKDF-SHA256), and so are its
 * id and the check value by which nodes compare keys without showing them. The nonce is drawn: one key seals up to 2^32 texts.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { Fault } from "../../ports/fault.ts";
import type { SecretPlace, Secrets } from "../../ports/secrets.ts";

export const SECRET_KEY_BYTES = 32;
const MARK = "sealed:";
const VERSION = "1";
const ID_BYTES = 4;
const CHECK_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The parts of a key that may be shown. */
export interface SecretKeyName {
  /** 8 hexadecimal digits. */
  readonly id: string;
  /** Equal for equal keys only. */
  readonly check: string;
}

export interface SecretKey extends SecretKeyName {
  readonly bytes: Buffer;
  readonly sealing: Buffer;
  readonly signing: Buffer;
}

const derive = (bytes: Buffer, purpose: string, length: number): Buffer =>
  Buffer.from(hkdfSync("sha256", bytes, "", `trawl ${purpose}`, length));

export const secretKey = (bytes: Buffer): SecretKey => ({
  bytes,
  id: derive(bytes, "key id", ID_BYTES).toString("hex"),
  check: derive(bytes, "key check", CHECK_BYTES).toString("hex"),
  sealing: derive(bytes, "sealing", SECRET_KEY_BYTES),
  signing: derive(bytes, "signing", SECRET_KEY_BYTES),
});

export const newSecretKey = (): SecretKey => secretKey(randomBytes(SECRET_KEY_BYTES));

export interface SecretKeys {
  readonly current: () => SecretKey;
  /** The key with this id; undefined: this node has it not. */
  readonly find: (id: string) => SecretKey | undefined;
  /** All that this node has. */
  readonly all: () => readonly SecretKey[];
}

export function aesSecrets(keys: SecretKeys): Secrets {
  function seal(text: string, place: SecretPlace): string {
    const { id, sealing } = keys.current();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", sealing, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(placeOf(id, place));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${MARK}${VERSION}:${id}:${sealed.toString("base64url")}`;
  }

  function open(stored: string, place: SecretPlace): string {
    if (!stored.startsWith(MARK)) return stored;
    const [, version, id = "", text = ""] = stored.split(":");
    if (version !== VERSION) throw unreadable(place, "it was sealed by another version of this program");
    const key = keys.find(id);
    if (!key) throw unreadable(place, `it is sealed with key "${id}", which this node has not`);
    const sealed = Buffer.from(text, "base64url");
    if (sealed.length < NONCE_BYTES + TAG_BYTES) throw unreadable(place, "it is cut");
    const decipher = createDecipheriv("aes-256-gcm", key.sealing, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(placeOf(id, place));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      const opened = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([opened, decipher.final()]).toString("utf8");
    } catch (cause) {
      throw unreadable(place, "it was changed, or it was sealed for another place", cause);
    }
  }

  return {
    seal,
    open,
    reseal(stored, place) {
      const text = open(stored, place);
      return stored.startsWith(`${MARK}${VERSION}:${keys.current().id}:`) ? stored : seal(text, place);
    },
    sign: (purpose, text) => signatureOf(keys.current(), purpose, text).toString("base64url"),
    isSigned(purpose, text, signature) {
      const given = Buffer.from(signature, "base64url");
      return keys.all().some((key) => {
        const right = signatureOf(key, purpose, text);
        // The text is compared, too: other characters may decode to the same bytes.
        return (
          given.length === right.length &&
          timingSafeEqual(given, right) &&
          signature === right.toString("base64url")
        );
      });
    },
  };
}

const signatureOf = ({ signing }: SecretKey, purpose: string, text: string): Buffer =>
  createHmac("sha256", signing)
    .update(JSON.stringify([purpose, text]))
    .digest();

/** JSON, so that no two places are the same bytes. */
const placeOf = (id: string, { collection, key, field }: SecretPlace): Buffer =>
  Buffer.from(JSON.stringify([VERSION, id, collection, key, field]));

const unreadable = ({ collection, key, field }: SecretPlace, why: string, cause?: unknown): Fault =>
  new Fault("secret_unreadable", `Cannot read the secret "${field}" of "${collection}/${key}": ${why}`, {
    cause,
  });
