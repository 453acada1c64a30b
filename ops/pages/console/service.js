/** The service as the console asks it: with the key of this tab's memory, or with the cookie that scripts cannot read. Keys are in no address. */
const REMEMBERED = "trawl-console-remembered";
const WAIT_MS = 180_000;

const MEMORY = { key: "" };
/** What was answered last under each address, by which the service tells that nothing has changed. */
const ANSWERED = new Map();
const MAX_ANSWERED = 40;
const listeners = new Set();

/** Whether a person is signed in, in this tab or with the cookie. */
export const isSignedIn = () => MEMORY.key !== "" || localStorage.getItem(REMEMBERED) !== null;

export function onSignedOut(call) {
  listeners.add(call);
  return () => listeners.delete(call);
}

const messageOf = (status, content) => {
  const detail = content?.detail;
  if (typeof detail === "string") return detail;
  if (Array.isArray(detail))
    return detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join("; ");
  return [detail?.error ?? `HTTP ${status}`, detail?.message ?? detail?.hint].filter(Boolean).join(": ");
};

export class Refused extends Error {
  constructor(status, content) {
    super(messageOf(status, content));
    this.status = status;
  }
}

async function send(method, path, { body, key = MEMORY.key, accept, tag } = {}) {
  const headers = {
    "X-Trawl-Console": "1",
    ...(accept && { Accept: accept }),
    ...(tag && { "If-None-Match": tag }),
  };
  if (key !== "") headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const isOwn = path.startsWith("/console/");
  const address = key !== "" || isOwn ? path : `/console/api${path}`;
  try {
    return await fetch(address, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(WAIT_MS),
    });
  } catch {
    throw new Error("The service does not answer");
  }
}

function remember(path, tag, content) {
  ANSWERED.delete(path);
  if (tag === null) return;
  if (ANSWERED.size >= MAX_ANSWERED) ANSWERED.delete(ANSWERED.keys().next().value);
  ANSWERED.set(path, { tag, content });
}

/** The JSON of an answer. Throws Refused. */
export async function ask(method, path, body) {
  const before = method === "GET" ? ANSWERED.get(path) : undefined;
  const reply = await send(method, path, { body, tag: before?.tag });
  if (before && reply.status === 304) return before.content;
  const content = reply.status === 204 ? null : await reply.json().catch(() => null);
  if (reply.ok) {
    if (method === "GET") remember(path, reply.headers.get("ETag"), content);
    return content;
  }
  if (reply.status === 401)
    signedOut("The service refuses the key: it is revoked, has expired, or was never one");
  throw new Refused(reply.status, content);
}

/** Saves an answer as a file. */
export async function download(path, name, accept) {
  const reply = await send("GET", path, { accept });
  if (!reply.ok) throw new Refused(reply.status, await reply.json().catch(() => null));
  const address = URL.createObjectURL(await reply.blob());
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Throws Refused. */
export async function signIn(key, isRemembered) {
  const reply = isRemembered
    ? await send("POST", "/console/session", { key })
    : await send("GET", "/v1/quota", { key });
  if (!reply.ok) throw new Refused(reply.status, await reply.json().catch(() => null));
  if (isRemembered) localStorage.setItem(REMEMBERED, "1");
  else MEMORY.key = key;
}

/** With the secret of a one-time link. Throws Refused. */
export async function signInByLink(secret) {
  const reply = await fetch("/console/sign-in", { method: "POST", headers: { "X-Trawl-Sign-In": secret } });
  if (!reply.ok) throw new Refused(reply.status, await reply.json().catch(() => null));
  MEMORY.key = "";
  localStorage.setItem(REMEMBERED, "1");
}

function signedOut(reason) {
  const wasRemembered = localStorage.getItem(REMEMBERED) !== null;
  MEMORY.key = "";
  ANSWERED.clear();
  localStorage.removeItem(REMEMBERED);
  for (const listener of listeners) listener(reason);
  return wasRemembered;
}

export async function signOut() {
  if (signedOut("You are signed out")) await send("DELETE", "/console/session");
}

/** Replaces the key of this tab, where it was the one that was rotated. */
export function replaceKey(prefix, key) {
  if (MEMORY.key.startsWith(prefix)) MEMORY.key = key;
}
