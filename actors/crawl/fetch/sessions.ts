/** The sessions of projects, as documents. Requests of one session end in any order; each adds what it has changed to the stored cookies. */
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { SealedCollection, Secrets } from "../../../cluster/ports/secrets.ts";
import {
  sessionPlace,
  MAX_SESSIONS,
  type SessionBody,
  sessionKey,
  type SessionView,
  type StoredSession,
} from "../../../schemas/sessions.ts";
import { randomId } from "../../lib/random-id.ts";
import { withChanges, type WrittenJar } from "../../lib/web/session-jar.ts";
import {
  type GivenSecrets,
  NO_SECRETS,
  withSecrets,
  type WrittenSecrets,
} from "../../lib/web/session-secrets.ts";
import { SESSIONS } from "./collections.ts";
import { iso } from "../../lib/iso.ts";

const TTL_S = 3_600;

export interface Sessions {
  /** Null: the project has too many. Throws Fault, as all of these. */
  readonly create: (
    project: string,
    body: Omit<SessionBody, "secrets">,
    jar: WrittenJar,
    secrets: WrittenSecrets | null,
  ) => Promise<StoredSession | null>;
  readonly list: (project: string) => Promise<readonly StoredSession[]>;
  /** Null: there is none, or its time is over. */
  readonly get: (project: string, id: string) => Promise<StoredSession | null>;
  /** Null: there is none, or its time is over. `too_many`: of its secrets; it is as it was. */
  readonly change: (
    project: string,
    id: string,
    given: GivenSecrets,
  ) => Promise<StoredSession | "too_many" | null>;
  readonly remove: (project: string, id: string) => Promise<boolean>;
  /** A request has ended; `changes` are sealed. A session that is gone stays so. */
  readonly used: (project: string, id: string, changes: string | null) => Promise<void>;
}

const optionsOf = ({ project, expires_ms }: StoredSession) => ({
  tag: project,
  expires_at_ms: expires_ms,
});

export const sealedSessions: SealedCollection = {
  rewrite({ value }, reseal) {
    const session = value as StoredSession;
    const { project, id } = session;
    const jar = reseal(session.jar, sessionPlace(project, id, "jar"));
    const secrets =
      session.secrets === undefined
        ? undefined
        : reseal(session.secrets, sessionPlace(project, id, "secrets"));
    if (jar === null || secrets === null) return null;
    const resealed = { ...session, jar, ...(secrets !== undefined && { secrets }) };
    return { value: resealed, options: optionsOf(session) };
  },
};

export function sessions({
  documents,
  secrets: { open, seal },
  now,
}: {
  readonly documents: Documents;
  readonly secrets: Pick<Secrets, "open" | "seal">;
  readonly now: () => number;
}): Sessions {
  const list: Sessions["list"] = async (project) => {
    const stored = await SESSIONS.list(documents, { tag: project, limit: MAX_SESSIONS });
    return stored.map(({ value }) => value).filter(({ expires_ms }) => expires_ms > now());
  };
  const withSealed = (session: StoredSession, { text, names }: WrittenSecrets): StoredSession => ({
    ...session,
    secrets: seal(text, sessionPlace(session.project, session.id, "secrets")),
    secret_names: names,
  });
  return {
    list,
    async create(project, { ttl_s = TTL_S, label = null, country = null, ...body }, jar, written) {
      if ((await list(project)).length >= MAX_SESSIONS) return null;
      const id = randomId("ses_");
      const created_ms = Math.floor(now());
      const bare: StoredSession = {
        id,
        project,
        label,
        created_ms,
        expires_ms: created_ms + ttl_s * 1_000,
        used_ms: null,
        user_agent: body.user_agent ?? null,
        accept_language: body.accept_language ?? null,
        ...(country !== null && { country: country.toLowerCase() }),
        jar: seal(jar.text, sessionPlace(project, id, "jar")),
        cookies: jar.count,
      };
      const session = written === null ? bare : withSealed(bare, written);
      await SESSIONS.put(documents, sessionKey(project, id), session, 0, optionsOf(session));
      return session;
    },
    async get(project, id) {
      const session = await SESSIONS.get(documents, sessionKey(project, id));
      return session && session.expires_ms > now() ? session : null;
    },
    async change(project, id, given) {
      let isTooMany = false;
      const changed = await SESSIONS.update(documents, sessionKey(project, id), (session) => {
        if (session === null || session.expires_ms <= now()) return null;
        const text =
          session.secrets === undefined
            ? NO_SECRETS
            : open(session.secrets, sessionPlace(project, id, "secrets"));
        const written = withSecrets(text, given);
        isTooMany = written === null;
        return written && { value: withSealed(session, written), options: optionsOf(session) };
      });
      return isTooMany ? "too_many" : (changed?.value ?? null);
    },
    async remove(project, id) {
      let isThere = false;
      await SESSIONS.update(documents, sessionKey(project, id), (session) => {
        isThere = session !== null && session.expires_ms > now();
        return session && "remove";
      });
      return isThere;
    },
    async used(project, id, changes) {
      await SESSIONS.update(documents, sessionKey(project, id), (session) => {
        if (session === null) return null;
        const place = sessionPlace(project, id, "jar");
        const jar =
          changes &&
          withChanges(open(session.jar, place), open(changes, sessionPlace(project, id, "changes")));
        const next: StoredSession = {
          ...session,
          used_ms: Math.floor(now()),
          ...(jar && { jar: seal(jar.text, place), cookies: jar.count }),
        };
        return { value: next, options: optionsOf(next) };
      });
    },
  };
}

export const sessionView = (session: StoredSession): SessionView => ({
  session_id: session.id,
  label: session.label,
  created_at: iso(session.created_ms),
  expires_at: iso(session.expires_ms),
  last_used_at: session.used_ms === null ? null : iso(session.used_ms),
  user_agent: session.user_agent,
  accept_language: session.accept_language,
  country: session.country ?? null,
  cookies: session.cookies,
  secrets: [...(session.secret_names ?? [])],
});
