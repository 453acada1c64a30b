/** A peer's address as both adapters give it: an IPv4 address mapped into IPv6 is that IPv4 address. */
import ipaddr from "ipaddr.js";

export function normalizeIp(text: string): string {
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : "";
}
