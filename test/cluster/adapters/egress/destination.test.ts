/** SSRF protection: which destinations may be connected to (`blocked_destination`, `invalid_url`). */
import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { destination, type Judgement } from "../../../../actors/lib/web/destination.ts";

const URLS: readonly (readonly [outcome: Judgement, urls: readonly string[]])[] = [
  [
    "blocked_destination",
    [
      // Loopback, in every way to write it that the URL standard reads.
      "http://127.0.0.1/",
      "http://127.8.9.1:8080/x?y",
      "http://127.1/",
      "http://127.0.1/",
      "http://2130706433/",
      "http://0x7f000001/",
      "http://0x7F.0.0.0x1/",
      "http://017700000001/",
      "http://0177.1/",
      "http://127.0.0.1./",
      "http://①②⑦.0.0.1/",
      "http://127。0。0。1/",
      "http://%31%32%37.0.0.1/",
      "http:\\\\127.0.0.1/",
      "http:127.0.0.1",
      "  http://127.0.0.1/",
      "http://127.0.0.1%2f@127.0.0.1/",
      "https://user:secret@127.0.0.1/",
      "http://0/",
      "http://[::1]/",
      "http://[0:0:0:0:0:0:0:1]/",
      "http://[::]/",
      "http://[::ffff:127.0.0.1]/",
      "http://[::ffff:7f00:1]/",
      "http://[::127.0.0.1]/",
      "http://[::8.8.8.8]/",
      "http://[::ffff:0:127.0.0.1]/",
      // Private, shared, link-local, metadata.
      "http://10.255.255.255/",
      "http://172.16.0.1/",
      "http://172.31.255.255/",
      "http://192.168.0.1/",
      "http://100.64.0.1/",
      "http://169.254.169.254/latest/",
      "http://0xa9fea9fe/",
      "http://169.254.43518/",
      "http://[::ffff:a9fe:a9fe]/",
      "http://100.100.100.200/",
      "http://192.0.0.192/",
      "http://168.63.129.16/",
      "http://[fd00:ec2::254]/",
      "http://[fe80::1]/",
      // Translated and tunnelled.
      "http://[64:ff9b::10.0.0.1]/",
      "http://[64:ff9b:1::1]/",
      "http://[2002:7f00:1::]/",
      "http://[2001::1]/",
      // Names that are never public.
      "http://localhost/",
      "http://LOCALHOST.:80/",
      "http://a.b.localhost/",
      "http://db.internal/",
      "http://printer.local/",
      "http://wiki.intranet/",
      "http://nas.lan/",
      "http://router.home.arpa/",
      "http://metadata/",
      "http://metadata.google.internal/computeMetadata/v1/",
      // Ports of services that take HTTP for commands.
      "http://example.org:25/",
      "http://example.org:6379/",
      "https://example.org:27017/",
      "http://8.8.8.8:11211/",
      "http://example.org:4222/",
      "http://example.org:22/",
      "http://example.org:0/",
    ],
  ],
  [
    "allowed",
    [
      "http://93.184.215.14/",
      "https://1.1.1.1:8443/",
      "http://134744072/",
      "http://[2606:4700::1111]/",
      "http://[::ffff:8.8.8.8]/",
      "http://[64:ff9b::8.8.8.8]/",
      "http://8.8.8.8#@127.0.0.1/",
      "http://127.0.0.1@8.8.8.8/",
    ],
  ],
  [
    "resolve",
    [
      "http://example.org/",
      "HTTP://EXAMPLE.ORG:8080/",
      "http://bücher.example/",
      "http://127.0.0.1.nip.io/",
      "http://localhost.example/",
      "http://notlocalhost/",
      "http://internal.example.org/",
      "http://example.org\\@127.0.0.1/",
      "http://a_b.example.org./",
      `http://${"a".repeat(63)}.example/`,
    ],
  ],
  [
    "invalid_url",
    [
      "",
      "example.org",
      "//example.org/",
      "http://",
      "http:///",
      "http://256.1.1.1/",
      "http://1.2.3.4.5/",
      "http://0x100000000/",
      "http://[::1",
      "http://[fe80::1%25eth0]/",
      "http://a b/",
      "http://host:99999/",
      "ftp://example.org/",
      "file:///etc/passwd",
      "gopher://127.0.0.1:6379/",
      "data:text/plain,x",
      "javascript:alert(1)",
      "blob:http://example.org/x",
      "about:blank",
      "ws://example.org/",
      "view-source:http://example.org/",
      "mailto:a@example.org",
      "http://a..example.org/",
      "http://.example.org/",
      `http://${"a".repeat(64)}.example/`,
      `http://${"a.".repeat(127)}example/`,
    ],
  ],
];

/** An address inside each range, at its edges, and the neighbours that are public. */
const ADDRESSES: readonly (readonly [
  outcome: "allowed" | "blocked_destination",
  addresses: readonly string[],
])[] = [
  [
    "blocked_destination",
    [
      "0.0.0.0",
      "0.255.255.255",
      "10.0.0.0",
      "10.255.255.255",
      "100.64.0.0",
      "100.127.255.255",
      "127.0.0.0",
      "127.255.255.255",
      "169.254.0.0",
      "169.254.255.255",
      "172.16.0.0",
      "172.31.255.255",
      "192.0.0.9",
      "192.0.2.255",
      "192.31.196.1",
      "192.52.193.1",
      "192.88.99.1",
      "192.168.0.0",
      "192.168.255.255",
      "192.175.48.1",
      "198.18.0.0",
      "198.19.255.255",
      "198.51.100.7",
      "203.0.113.7",
      "224.0.0.1",
      "239.255.255.255",
      "240.0.0.1",
      "255.255.255.255",
      "168.63.129.16",
      "::",
      "::1",
      "::2",
      "::8.8.8.8",
      "::808:808",
      "::ffff:10.1.2.3",
      "::ffff:0:8.8.8.8",
      "64:ff9b::127.0.0.1",
      "64:ff9b::a9fe:a9fe",
      "64:ff9b:1::8.8.8.8",
      "64:ff9b::1:808:808",
      "100::1",
      "100:0:0:1::1",
      "1fff::1",
      "2001::1",
      "2001:1::1",
      "2001:2::1",
      "2001:10::1",
      "2001:20::1",
      "2001:1ff::1",
      "2001:db8::1",
      "2002:808:808::1",
      "2620:4f:8000::1",
      "3fff::1",
      "4000::1",
      "5f00::1",
      "fc00::1",
      "fdff::1",
      "fe80::1",
      "fe80::1%eth0",
      "fec0::1",
      "ff02::1",
      "",
      "example.org",
      "1.2.3",
      "1.2.3.4.5",
      "0x7f.0.0.1",
      ":::",
      "1.2.3.4/8",
    ],
  ],
  [
    "allowed",
    [
      "1.0.0.0",
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "126.255.255.255",
      "128.0.0.0",
      "168.63.129.15",
      "169.253.255.255",
      "169.255.0.0",
      "172.15.255.255",
      "172.32.0.0",
      "192.0.1.0",
      "192.167.255.255",
      "192.169.0.0",
      "198.17.255.255",
      "198.20.0.0",
      "223.255.255.255",
      "::ffff:8.8.8.8",
      "64:ff9b::808:808",
      "2000::1",
      "2001:200::1",
      "2001:4860:4860::8888",
      "2001:db9::1",
      "2003::1",
      "2a00:1450::1",
      "3ffe::1",
      "3fff:1000::1",
    ],
  ],
];

const rows = <O>(table: readonly (readonly [O, readonly string[]])[]) =>
  table.flatMap(([outcome, texts]) => texts.map((text) => [text, outcome] as const));

describe("a destination", () => {
  test.each(rows(URLS))("%j is %s", (url, outcome) => expect(destination().url(url)).toBe(outcome));
  test.each(rows(ADDRESSES))("at %j is %s", (address, outcome) =>
    expect(destination().address(address, 443)).toBe(outcome),
  );
});

test("has more than sixty hostile rows", () => {
  expect(rows(URLS).filter(([, outcome]) => outcome === "blocked_destination").length).toBeGreaterThan(60);
});

test("an IPv4 address is judged alike in all its forms", () => {
  const part = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(part, part, part, part, (a, b, c, d) => {
      const { url, address } = destination();
      const plain = address(`${a}.${b}.${c}.${d}`, 80);
      const number = ((a * 256 + b) * 256 + c) * 256 + d;
      const hex = [a, b, c, d].map((octet) => octet.toString(16).padStart(2, "0"));
      const forms = [
        `${a}.${b}.${c}.${d}`,
        `${number}`,
        `0x${number.toString(16)}`,
        `0${number.toString(8)}`,
        `[::ffff:${a}.${b}.${c}.${d}]`,
        `[64:ff9b::${hex[0]}${hex[1]}:${hex[2]}${hex[3]}]`,
      ];
      for (const form of forms) expect([form, url(`http://${form}/`)]).toEqual([form, plain]);
    }),
    { numRuns: 500 },
  );
});

describe("an allowance", () => {
  test.each([
    [["127.0.0.0/8"], "http://127.0.0.1:8081/", "allowed"],
    [["127.0.0.0/8"], "http://[::ffff:127.0.0.1]/", "allowed"],
    [["127.0.0.0/8"], "http://[::1]/", "blocked_destination"],
    [["127.0.0.0/8"], "http://[64:ff9b::7f00:1]/", "blocked_destination"],
    [["127.0.0.0/8"], "http://169.254.169.254/", "blocked_destination"],
    [["127.0.0.0/8"], "http://127.0.0.1:6379/", "blocked_destination"],
    [["10.1.0.0/16"], "http://10.2.0.1/", "blocked_destination"],
    [["10.1.0.0/16", "fd00::/8"], "http://[fd12::1]/", "allowed"],
    [["192.168.1.7"], "http://192.168.1.7/", "allowed"],
    [["192.168.1.7"], "http://192.168.1.8/", "blocked_destination"],
    // Names are asked of the resolver only when there is an allowance they could lead to.
    [["127.0.0.0/8"], "http://localhost/", "resolve"],
    [["10.1.0.0/16"], "http://wiki.intranet/", "resolve"],
    [[], "http://localhost/", "blocked_destination"],
    // Metadata services hand out the machine's credentials: no allowance opens them.
    [["169.254.0.0/16"], "http://metadata.google.internal/", "blocked_destination"],
    [["10.0.0.0/8"], "http://METADATA.google.internal./", "blocked_destination"],
    [["10.0.0.0/8"], "http://metadata/", "blocked_destination"],
    [["10.0.0.0/8"], "http://a.metadata.internal/", "blocked_destination"],
    [["10.0.0.0/8"], "http://instance-data.ec2.internal/", "blocked_destination"],
    [["10.0.0.0/8"], "http://metadata.example.org/", "resolve"],
  ] as const)("of %j makes %s %s", (allow, url, outcome) => {
    expect(destination({ allow }).url(url)).toBe(outcome);
  });

  test.each([
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "169.254.42.42",
    "169.254.0.23",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:42::42",
    // Forms of the first that reach it over IPv6.
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:0:a9fe:a9fe",
    "2002:a9fe:a9fe::1",
  ])("does not open the metadata service at %s", (address) => {
    const everything = destination({ allow: ["0.0.0.0/0", "::/0"] });
    const host = address.includes(":") ? `[${address}]` : address;
    expect(everything.url(`http://${host}/`)).toBe("blocked_destination");
    expect(everything.address(address, 80)).toBe("blocked_destination");
    expect(everything.address(address, 80, [address, "::/0"])).toBe("blocked_destination");
  });

  test("is told from a public address, and gives way to the networks of a request", () => {
    const it = destination({ allow: ["10.0.0.0/8"] });
    expect(it.address("10.0.0.7", 80)).toBe("private");
    expect(it.address("93.184.216.34", 80)).toBe("allowed");
    expect(it.address("10.0.0.7", 80, [])).toBe("blocked_destination");
    expect(it.url("http://10.0.0.7/", [])).toBe("blocked_destination");
    expect(it.url("http://wiki.intranet/", [])).toBe("blocked_destination");
    expect(it.address("192.168.1.1", 80, ["192.168.0.0/16"])).toBe("private");
    expect(it.address("10.0.0.7", 80, ["192.168.0.0/16"])).toBe("blocked_destination");
  });

  test.each(["10.0.0.0/33", "10.0.0", "intranet", "", "::ffff:10.0.0.0/104", "10.0.0.0/8,127.0.0.1"])(
    "%j is refused as a setting",
    (allowance) => {
      expect(() => destination({ allow: [allowance] })).toThrow(/Cannot read the egress allowance/);
    },
  );
});

describe("the service's own endpoints", () => {
  const own = [
    { host: "0.0.0.0", port: 8080 },
    { host: "10.0.0.5", port: 4333 },
    { host: "mongo.internal", port: 8000 },
    { host: "8.8.4.4", port: 8080 },
  ];
  test.each([
    ["http://127.0.0.1:8080/", "blocked_destination"],
    ["http://[::1]:8080/", "blocked_destination"],
    ["http://10.0.0.5:4333/", "blocked_destination"],
    ["http://MONGO.internal.:8000/", "blocked_destination"],
    ["http://8.8.4.4:8080/", "blocked_destination"],
    ["http://127.0.0.1:8081/", "allowed"],
    ["http://10.0.0.6:8080/", "allowed"],
    ["http://mongo.internal:8001/", "resolve"],
    ["http://8.8.4.4/", "allowed"],
  ])("%s is %s whatever is allowed", (url, outcome) => {
    expect(destination({ allow: ["0.0.0.0/0", "::/0"], own }).url(url)).toBe(outcome);
  });
});

const shared = new URL("../../../../../shared/fixtures/gateway/ssrf.json", import.meta.url);
describe.skipIf(!existsSync(shared))("the shared vectors", () => {
  const vectors = existsSync(shared)
    ? JSON.parse(readFileSync(shared, "utf8"))
    : { urls: [], addresses: [], egress_allow: [] };
  test("of URLs, addresses and allowances come out as they should", () => {
    const { url, address } = destination();
    const wrong = [
      ...vectors.urls.filter((row: any) => url(row.url) !== row.outcome),
      ...vectors.addresses.filter((row: any) => address(row.address, 443) !== row.outcome),
      ...vectors.egress_allow.filter(
        (row: any) => destination({ allow: [row.TRAWL_EGRESS_ALLOW] }).url(row.url) !== row.outcome,
      ),
    ];
    expect(vectors.urls.length + vectors.addresses.length).toBeGreaterThan(200);
    expect(wrong).toEqual([]);
  });
});
