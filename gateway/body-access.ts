/**
 * Access to bodies: a project may download the bodies that it retrieved itself, for 30 days. The gateway stores a grant
 * before an answer names a body, and looks it up before it sends one. A grant is one small document per project and
 * body. Its key begins with the digest, because a grant also keeps the body alive (cluster/body-refs.ts).
 *
 * The worker that stores a page stores the right of its own project in the page's document (`right`, found by the tag of digest and
 * project), so a page that is fetched once is one document with its right (ops/decisions/0270-rights-in-pages.md).
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import { BODY_TAG_COLLECTIONS, bodyTag } from "../cluster/body-refs.ts";
import { compiled } from "../cluster/contracts/compiled.ts";
import { type BodyGrant, BodyRight } from "../schemas/accounts.ts";
import { BODY_GRANTS, grantExpiry, grantKey, RENEW_AFTER_MS, storeGrant } from "../records/body-grants.ts";

const RIGHTS_AT_ONCE = 100;
const bodyRight = compiled(BodyRight);
/** Grants in memory, of some 300 bytes each. */
const MAX_RECENT = 100_000;
/** Projects of one body, those that retrieved it last: they are looked through one after the other. */
const MAX_PROJECTS = 100;
/** Content types and projects, of which there are few: each is in memory once. */
const MAX_NAMES = 1_000;

/** A grant in memory, in a list with those of other projects for the same body: a crawl has one for each page, nearly all of one project. */
interface RecentGrant extends Omit<BodyGrant, "sha256"> {
  readonly project: string;
  readonly next: RecentGrant | undefined;
}

export interface BodyGrants {
  /** Whether a grant for the same bytes with the same content type is recent enough, so that nothing must be stored. */
  readonly isFresh: (project: string, seen: Omit<BodyGrant, "retrieved_at_ms">, now_ms: number) => boolean;
  /** Resolves when the grant is stored. Throws Fault. */
  readonly record: (project: string, seen: Omit<BodyGrant, "retrieved_at_ms">) => Promise<void>;
  /** The grant is part of a stored document. Resolves when that is durable. Throws Fault. */
  readonly recorded: (project: string, grant: BodyGrant) => Promise<void>;
  /** Null: the project did not retrieve the body within 30 days. Throws Fault. */
  readonly find: (project: string, sha256: string) => Promise<BodyGrant | null>;
}

export function openBodyGrants({ documents, clock }: { documents: Documents; clock: Clock }): BodyGrants {
  /** By digest: no lookup makes a text of its own, which each cached fetch would pay for. */
  const recent = new LRUCache<string, RecentGrant>({
    maxSize: MAX_RECENT,
    sizeCalculation: (first) => {
      let grants = 0;
      for (let grant: RecentGrant | undefined = first; grant; grant = grant.next) grants++;
      return grants;
    },
  });
  const names = new LRUCache<string, string>({ max: MAX_NAMES });

  function kept<Name extends string | null>(name: Name): Name {
    if (name === null) return name;
    const known = names.get(name);
    if (known === undefined) names.set(name, name);
    return (known ?? name) as Name;
  }

  const remember = (
    project: string,
    { sha256, content_type, body_kind, retrieved_at_ms }: BodyGrant,
  ): void => {
    const others: RecentGrant[] = [];
    for (let other = recent.get(sha256); other && others.length < MAX_PROJECTS - 1; other = other.next)
      if (other.project !== project) others.push(other);
    const next = others.reduceRight<RecentGrant | undefined>(
      (behind, other) => ({ ...other, next: behind }),
      undefined,
    );
    const grant = { content_type: kept(content_type), body_kind: kept(body_kind), retrieved_at_ms };
    recent.set(sha256, { project: kept(project), ...grant, next });
  };

  const isFresh: BodyGrants["isFresh"] = (project, { sha256, content_type, body_kind }, now_ms) => {
    let grant = recent.get(sha256);
    while (grant && grant.project !== project) grant = grant.next;
    return (
      grant !== undefined &&
      grant.content_type === content_type &&
      grant.body_kind === body_kind &&
      now_ms - grant.retrieved_at_ms < RENEW_AFTER_MS
    );
  };

  return {
    isFresh,

    async record(project, seen) {
      const retrieved_at_ms = clock.now();
      if (isFresh(project, seen, retrieved_at_ms)) return;
      const value: BodyGrant = { ...seen, retrieved_at_ms };
      await storeGrant(documents, project, value);
      remember(project, value);
    },

    async recorded(project, grant) {
      await documents.synced();
      remember(project, grant);
    },

    async find(project, sha256) {
      const isValid = ({ retrieved_at_ms }: Pick<BodyGrant, "retrieved_at_ms">): boolean =>
        clock.now() < grantExpiry(retrieved_at_ms);
      const grant = await BODY_GRANTS.get(documents, grantKey(project, sha256));
      if (grant && isValid(grant)) return grant;
      for (const name of BODY_TAG_COLLECTIONS)
        for await (const right of rightsIn(documents, name, project, sha256))
          if (isValid(right)) return { sha256, ...grantOf(right) };
      return null;
    },
  };
}

const grantOf = ({ content_type, body_kind, retrieved_at_ms }: BodyRight): Omit<BodyGrant, "sha256"> => ({
  content_type,
  body_kind,
  retrieved_at_ms,
});

/** The rights of a project in the documents that keep a body, which are few: those of one page each. */
async function* rightsIn(
  documents: Pick<Documents, "list">,
  name: string,
  project: string,
  sha256: string,
): AsyncGenerator<BodyRight> {
  for (let from: string | null = ""; from !== null;) {
    const range = { tag: bodyTag(sha256, project), from, limit: RIGHTS_AT_ONCE };
    const listed = await documents.list(name, range);
    for (const { value } of listed) {
      const { right } = value as { readonly right?: unknown };
      if (bodyRight.check(right) && right.project === project) yield right;
    }
    from = listed.length < RIGHTS_AT_ONCE ? null : `${listed.at(-1)!.key}\0`;
  }
}
