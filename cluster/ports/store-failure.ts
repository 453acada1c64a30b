/** Why a store refuses: read from what its driver reported, however deep that lies among the causes of a fault. */
export type StoreFailure = "full" | "read_only" | "access_denied" | "unavailable";

/** File systems (errno), SQLite (result codes), MongoDB and NATS (error codes) and S3 (error names), each in its own words. */
const BY_CODE: ReadonlyMap<unknown, StoreFailure> = new Map<unknown, StoreFailure>([
  ["ENOSPC", "full"],
  ["EDQUOT", "full"],
  ["EROFS", "read_only"],
  ["EACCES", "access_denied"],
  ["EPERM", "access_denied"],
]);
const BY_SQLITE_CODE: ReadonlyMap<number, StoreFailure> = new Map([
  [13, "full"], // SQLITE_FULL
  [8, "read_only"], // SQLITE_READONLY
  [23, "access_denied"], // SQLITE_AUTH
]);
const BY_MONGO_CODE: ReadonlyMap<number, StoreFailure> = new Map([
  [14031, "full"], // OutOfDiskSpace
  [8000, "full"], // AtlasError: over its space quota
  [10107, "read_only"], // NotWritablePrimary
  [10058, "read_only"], // the same, of older servers
  [13435, "read_only"], // NotPrimaryNoSecondaryOk
  [13, "access_denied"], // Unauthorized
  [18, "access_denied"], // AuthenticationFailed
]);
const BY_NATS_CODE: ReadonlyMap<number, StoreFailure> = new Map([
  [10_023, "full"], // insufficient resources
  [10_047, "full"], // insufficient storage resources available
]);
const BY_S3_NAME: ReadonlyMap<string, StoreFailure> = new Map([
  ["QuotaExceeded", "full"],
  ["EntityTooLarge", "full"],
  ["XMinioStorageFull", "full"],
  ["InsufficientStorage", "full"],
  ["ReadOnly", "read_only"],
  ["MethodNotAllowed", "read_only"],
  ["AccessDenied", "access_denied"],
  ["InvalidAccessKeyId", "access_denied"],
  ["SignatureDoesNotMatch", "access_denied"],
  ["ExpiredToken", "access_denied"],
]);

interface Reported {
  readonly code?: unknown;
  readonly errcode?: number;
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly cause?: unknown;
}

/** A chain of causes may be circular. */
const MAX_DEPTH = 8;

export function storeFailureOf(problem: unknown): StoreFailure {
  let at = problem as Reported | null | undefined;
  for (let depth = 0; depth < MAX_DEPTH && typeof at === "object" && at !== null; depth++) {
    const found = reported(at);
    if (found) return found;
    at = at.cause as Reported | undefined;
  }
  return "unavailable";
}

function reported({ code, errcode, name, $metadata }: Reported): StoreFailure | undefined {
  // Extended result codes of SQLite keep the primary one in their lowest byte.
  if (errcode !== undefined) return BY_SQLITE_CODE.get(errcode & 0xff);
  if (name === "JetStreamApiError") return BY_NATS_CODE.get(code as number);
  if ($metadata) return $metadata.httpStatusCode === 507 ? "full" : BY_S3_NAME.get(name ?? "");
  return typeof code === "number" ? BY_MONGO_CODE.get(code) : BY_CODE.get(code);
}
