/** Makes ids that cannot be guessed: a prefix and 16 characters of Crockford's base 32, in lower case. */
import { randomBytes } from "node:crypto";

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_CHARS = 16;

export const randomId = (prefix: string): string =>
  prefix + [...randomBytes(ID_CHARS)].map((byte) => CROCKFORD[byte & 31]).join("");
