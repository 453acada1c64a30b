/** Whether an address lies in one of the networks that an operator named. */
import { BlockList, isIPv6 } from "node:net";

/** `networks` as 10.0.0.0/8, fd00::/8 or a single address, checked before. */
export function inNetworks(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split("/") as [string, string?];
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => address !== "" && list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
