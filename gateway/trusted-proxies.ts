/**
 * The client's address behind proxies: X-Forwarded-For is believed only from networks that the operator names. Each proxy appends the
 * address that it was connected from, so of the list, read from its end, the first address that is no such proxy is the client's. What the
 * client itself wrote stands before it and is never reached.
 */
import { normalizeIp } from "./client-ip.ts";
import type { Admit } from "./http.ts";

type IsProxy = (address: string) => boolean;

/** `peer` is the address of the connection. An entry that is no address ends the list: nothing before it is believed. */
export function clientAddress(peer: string, forwarded_for: string | undefined, isProxy: IsProxy): string {
  let client = peer;
  for (const entry of (forwarded_for ?? "").split(",").toReversed()) {
    if (!isProxy(client)) return client;
    // Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711.
    const [, bare = entry.trim()] =
      /^\[?([^\]]+?)\]?(?::\d+)?$/.exec(entry.includes(".") || entry.includes("[") ? entry.trim() : "") ?? [];
    const address = normalizeIp(bare);
    if (address === "") return client;
    client = address;
  }
  return client;
}

/** Requests through these proxies have their client's address. */
export const behindProxies =
  (admit: Admit, isProxy: IsProxy): Admit =>
  (head, abort) =>
    admit(
      { ...head, address: () => clientAddress(head.address(), head.headers.get("x-forwarded-for"), isProxy) },
      abort,
    );
