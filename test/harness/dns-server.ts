/** A name server on loopback over UDP that answers from a table, and counts what it was asked. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { decode, encode } from "dns-packet";

/**
 * A list of addresses of both families; a list of lists is answered one after the other, the last for ever; a word is
 * a failure, `silent` no answer at all. Names that are not in the table do not exist.
 */
export type Zone = Readonly<
  Record<string, readonly string[] | readonly (readonly string[])[] | "NXDOMAIN" | "SERVFAIL" | "silent">
>;

const RCODES = { SERVFAIL: 2, NXDOMAIN: 3 } as const;

export interface DnsServer {
  /** ip:port, as TRAWL_DNS_SERVERS has it. */
  readonly address: string;
  /** How often the name was asked for an IPv4 address: once for each resolution. */
  readonly asked: (name: string) => number;
  readonly close: () => Promise<void>;
}

export async function dnsServer(zone: Zone): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const asked = new Map<string, number>();

  socket.on("message", (bytes, from) => {
    const query = decode(bytes);
    const { name, type } = query.questions![0]!;
    const before = asked.get(name) ?? 0;
    if (type === "A") asked.set(name, before + 1);
    const record = zone[name.toLowerCase()] ?? "NXDOMAIN";
    if (record === "silent") return;
    const isSeries = Array.isArray(record) && Array.isArray(record[0]);
    // The AAAA question comes first, so both see the same step.
    const addresses = (isSeries ? record[Math.min(before, record.length - 1)] : record) as readonly string[];
    const answers =
      typeof record === "string"
        ? []
        : addresses
            .filter((address) => address.includes(":") === (type === "AAAA"))
            .map((data) => ({ type: type as "A", name, ttl: 300, data }));
    const rcode = typeof record === "string" ? RCODES[record] : 0;
    const { id, questions } = query;
    socket.send(
      encode({ type: "response", id: id!, flags: 0x180 | rcode, questions: questions!, answers }),
      from.port,
    );
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");

  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: (name) => asked.get(name) ?? 0,
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
}
