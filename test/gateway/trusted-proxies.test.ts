/** Whose X-Forwarded-For is believed, and how far. */
import { describe, expect, test } from "vitest";
import type { Head } from "../../gateway/http.ts";
import { behindProxies, clientAddress } from "../../gateway/trusted-proxies.ts";
import { inNetworks } from "../../ops/networks.ts";
import { clientAbort } from "../harness/gateway-harness.ts";

const isProxy = inNetworks(["10.0.0.0/8", "192.0.2.1", "fd00::/8"]);

describe("the client's address", () => {
  test.each<[string, string, string | undefined, string]>([
    ["of a direct client is its own", "198.51.100.7", undefined, "198.51.100.7"],
    ["is not what a client itself claims", "198.51.100.7", "203.0.113.9", "198.51.100.7"],
    ["is what a named proxy was connected from", "10.1.2.3", "203.0.113.9", "203.0.113.9"],
    ["is not what the client wrote before the proxy", "10.1.2.3", "1.1.1.1, 203.0.113.9", "203.0.113.9"],
    ["is found through two proxies", "10.1.2.3", "203.0.113.9, 192.0.2.1", "203.0.113.9"],
    ["is the first proxy's where all are proxies", "10.1.2.3", "10.9.9.9", "10.9.9.9"],
    ["stays the proxy's where it says nothing", "10.1.2.3", undefined, "10.1.2.3"],
    ["stays the proxy's where it says nonsense", "10.1.2.3", "203.0.113.9, unknown", "10.1.2.3"],
    ["may have a port", "10.1.2.3", "203.0.113.9:4711", "203.0.113.9"],
    ["may be IPv6", "fd00::1", "2001:db8::7", "2001:db8::7"],
    ["may be IPv6 with a port", "fd00::1", "[2001:db8::7]:443", "2001:db8::7"],
    ["is IPv4 where it was mapped into IPv6", "::ffff:10.1.2.3", "::ffff:203.0.113.9", "203.0.113.9"],
    ["is the proxy's where the list is empty", "192.0.2.1", "", "192.0.2.1"],
  ])("%s", (_, peer, forwarded, expected) => {
    expect(clientAddress(peer, forwarded, isProxy)).toBe(expected);
  });

  test("is what a route sees; without named proxies no field is believed", () => {
    const seen: string[] = [];
    const admit = ({ address }: Head) => (seen.push(address()), { status: 204 });
    const head = {
      method: "GET",
      path: "/",
      query: "",
      headers: new Map([["x-forwarded-for", "203.0.113.9"]]),
      address: () => "10.1.2.3",
    };
    behindProxies(admit, inNetworks(["10.0.0.0/8"]))(head, clientAbort());
    behindProxies(admit, inNetworks([]))(head, clientAbort());
    expect(seen).toEqual(["203.0.113.9", "10.1.2.3"]);
  });
});
