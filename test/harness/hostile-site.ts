/**
 * An origin on loopback that does everything wrong, one path for each way, for tests of fetching.
 *
 * `HOSTILE` describes what each path does and how a fetch of it must end. The site counts its sockets, so that a test can
 * check that none is left open.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  /** Names and values as they came. */
  readonly raw: readonly string[];
}

export interface HostileSite {
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly HostileRequest[];
  readonly sockets: () => number;
  /** Resolves when the last socket has gone. */
  readonly emptied: () => Promise<void>;
  readonly close: () => Promise<void>;
}

type Play = (socket: Socket, request: HostileRequest) => void;

export interface Hostility {
  /** Behaviour of the origin, as a sentence without its subject. */
  readonly does: string;
  readonly play: Play;
  /** A status for a page, else the reason a direct fetch with 1 MiB and half a second ends with. */
  readonly ends: number | string;
}

const PLENTY_BYTES = 32 * 2 ** 20;
const zeros = Buffer.alloc(PLENTY_BYTES);
const words = Buffer.from("The quick brown fox jumps over the lazy dog. ".repeat(2_000));

export const answer = (
  status: string,
  fields: readonly string[],
  body: string | Buffer = "",
  says_length = true,
): Buffer => {
  const length = says_length ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const head = [`HTTP/1.1 ${status}`, ...fields, ...length, "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]);
};

const HTML = "Content-Type: text/html; charset=utf-8";
const CHUNKED = "Transfer-Encoding: chunked";
const ok = (fields: readonly string[], body: string | Buffer = "", says_length = true): Play => {
  const bytes = answer("200 OK", fields, body, says_length);
  return (socket) => void socket.write(bytes);
};
const text =
  (bytes: string | Buffer): Play =>
  (socket) =>
    void socket.write(bytes);
/** Sends, then ends its side. */
const shut =
  (bytes: string | Buffer): Play =>
  (socket) =>
    void socket.end(bytes);
/** A TLS socket cannot be reset, only what it runs over; by the port of the other side. */
const TCP_BELOW = new Map<number, Socket>();

/** Sends, then resets the connection; by then the other side has seen the bytes. */
const reset =
  (bytes: string | Buffer): Play =>
  (socket) => {
    const tcp = TCP_BELOW.get(socket.remotePort!)!;
    if (bytes.length === 0) tcp.resetAndDestroy();
    else socket.write(bytes, () => setTimeout(() => tcp.resetAndDestroy(), 20));
  };
/** Sends a beginning, then a piece again and again until the socket goes, as fast as it takes them or slower. */
const endless =
  (begin: string, piece: string | Buffer, every_ms = 0): Play =>
  (socket) => {
    socket.write(begin);
    if (every_ms > 0) {
      const timer = setInterval(() => socket.write(piece), every_ms);
      socket.on("close", () => clearInterval(timer));
      return;
    }
    const bytes = Buffer.from(piece);
    const writeMore = () => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on("drain", writeMore);
    writeMore();
  };
const coded = (coding: string, body: Buffer, ends: number | string, does: string): Hostility => ({
  does,
  play: ok([HTML, `Content-Encoding: ${coding}`], body),
  ends,
});
const redirect = (to: string, status = "302 Found"): Play => ok302(status, [`Location: ${to}`]);
const ok302 = (status: string, fields: readonly string[]): Play => {
  const bytes = answer(status, fields);
  return (socket) => void socket.write(bytes);
};

const gzipped = gzipSync(words);
const wrongSum = Buffer.from(gzipped);
wrongSum[wrongSum.length - 6]! ^= 0xff;
const wideWindow = zstdCompressSync(Buffer.alloc(9 * 2 ** 20, "0123456789abcdef"), {
  params: { [constants.ZSTD_c_windowLog]: 24, [constants.ZSTD_c_contentSizeFlag]: 0 },
});

const head200 = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

/** By path. Paths with a counter (/endless-redirects/7) are found by their first part. */
export const HOSTILE: Readonly<Record<string, Hostility>> = {
  // Slow, silent, endless.
  "/silent": { does: "takes the request and says nothing", play: () => {}, ends: "timeout" },
  "/slow-headers": {
    does: "sends a header field every 20 ms",
    play: endless("HTTP/1.1 200 OK\r\n", "X-Slow: 1\r\n", 20),
    ends: "timeout",
  },
  "/slow-header-bytes": {
    does: "sends one byte of a field every 10 ms",
    play: endless("HTTP/1.1 200 OK\r\nX-Slow: ", "a", 10),
    ends: "timeout",
  },
  "/slow-body": {
    does: "sends a byte of its body every 20 ms",
    play: endless(`${head200}Content-Length: 100000\r\n\r\n`, "x", 20),
    ends: "timeout",
  },
  "/slow-chunks": {
    does: "sends a chunk of one byte every 20 ms",
    play: endless(`${head200}${CHUNKED}\r\n\r\n`, "1\r\nx\r\n", 20),
    ends: "timeout",
  },
  "/stalled-body": {
    does: "stops in the middle of its body",
    play: text(`${head200}Content-Length: 100\r\n\r\nhalf`),
    ends: "timeout",
  },
  "/stalled-gzip": {
    does: "stops in the middle of a gzip body",
    play: (socket) =>
      void socket.write(
        Buffer.concat([
          Buffer.from(`${head200}Content-Encoding: gzip\r\nContent-Length: ${gzipped.length}\r\n\r\n`),
          gzipped.subarray(0, 50),
        ]),
      ),
    ends: "timeout",
  },
  "/endless-early-hints": {
    does: "hints for ever and never answers",
    play: endless("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 20),
    ends: "timeout",
  },
  "/endless-chunks": {
    does: "sends chunks without end",
    play: endless(`${head200}${CHUNKED}\r\n\r\n`, `4000\r\n${"x".repeat(0x4000)}\r\n`),
    ends: "too_large",
  },
  "/endless-tiny-chunks": {
    does: "sends chunks of one byte without end",
    play: endless(`${head200}${CHUNKED}\r\n\r\n`, "1\r\nx\r\n".repeat(5_000)),
    ends: "too_large",
  },
  "/endless-until-close": {
    does: "sends a body without a length and never closes",
    play: endless(`${head200}Connection: close\r\n\r\n`, "x".repeat(0x4000)),
    ends: "too_large",
  },
  "/endless-header": {
    does: "sends one field without end",
    play: endless("HTTP/1.1 200 OK\r\nX-Long: ", "a".repeat(0x1000)),
    ends: "network_protocol",
  },
  "/endless-status-line": {
    does: "sends a status line without end",
    play: endless("HTTP/1.1 200 ", "a".repeat(0x1000)),
    ends: "timeout",
  },
  "/endless-chunk-extension": {
    does: "sends a chunk extension without end",
    play: endless(`${head200}${CHUNKED}\r\n\r\n1;`, "a".repeat(0x1000)),
    ends: "timeout",
  },

  // Redirects.
  "/endless-redirects": {
    does: "redirects to a new place each time",
    play: (socket, { path }) =>
      redirect(`/endless-redirects/${Number(path.split("/")[2] ?? 0) + 1}`)(socket, null!),
    ends: "too_many_redirects",
  },
  "/loop-a": { does: "redirects in a circle", play: redirect("/loop-b"), ends: "too_many_redirects" },
  "/loop-b": { does: "redirects in a circle", play: redirect("/loop-a"), ends: "too_many_redirects" },
  "/loop-self": {
    does: "redirects to itself",
    play: redirect("/loop-self#again"),
    ends: "too_many_redirects",
  },
  "/cookie-wall": {
    does: "redirects to itself until its cookie comes back",
    play: (socket, { headers }) =>
      headers.get("cookie") === "seen=1"
        ? ok([HTML], "welcome")(socket, null!)
        : ok302("302 Found", ["Location: /cookie-wall", "Set-Cookie: seen=1; Path=/; HttpOnly"])(
            socket,
            null!,
          ),
    ends: 200,
  },
  "/cookie-flood": {
    does: "sets 900 cookies while it redirects to itself for ever",
    play: ok302("302 Found", [
      "Location: /cookie-flood",
      ...Array.from({ length: 900 }, (_, n) => `Set-Cookie: c${n}=${n}`),
    ]),
    ends: "too_many_redirects",
  },
  "/redirect-nowhere": { does: "redirects without saying where", play: ok302("302 Found", []), ends: 302 },
  "/redirect-empty": { does: "redirects to nothing", play: redirect(""), ends: 302 },
  "/redirect-ftp": { does: "redirects to ftp:", play: redirect("ftp://example.org/"), ends: "invalid_url" },
  "/redirect-file": { does: "redirects to file:", play: redirect("file:///etc/passwd"), ends: "invalid_url" },
  "/redirect-script": {
    does: "redirects to a script",
    play: redirect("javascript:alert(1)"),
    ends: "invalid_url",
  },
  "/redirect-labels": {
    does: "redirects to a name with an empty label",
    play: redirect("http://fine..example.org/"),
    ends: "invalid_url",
  },
  "/redirect-broken": { does: "redirects to no URL", play: redirect("http://[::1"), ends: "invalid_url" },
  "/redirect-metadata": {
    does: "redirects to a metadata address",
    play: redirect("http://169.254.169.254/latest/meta-data/"),
    ends: "blocked_destination",
  },
  "/redirect-private": {
    does: "redirects to a private address",
    play: redirect("//10.0.0.1/", "308 Permanent Redirect"),
    ends: "blocked_destination",
  },
  "/redirect-long": {
    does: "redirects with 20 KB of address",
    play: redirect(`/fine?${"x".repeat(20_000)}`),
    ends: "invalid_url",
  },
  "/redirect-endless-body": {
    does: "redirects with an endless body",
    play: endless(
      `HTTP/1.1 302 Found\r\nLocation: /fine\r\n${CHUNKED}\r\n\r\n`,
      `4000\r\n${"x".repeat(0x4000)}\r\n`,
    ),
    ends: 200,
  },

  // Lengths that lie.
  "/length-too-long": {
    does: "promises more than it sends, and closes",
    play: shut(`${head200}Content-Length: 1000\r\n\r\nshort`),
    ends: "network_reset",
  },
  "/length-too-short": {
    does: "sends more than it promised",
    play: text(`${head200}Content-Length: 5\r\n\r\nshort and then some more`),
    ends: 200,
  },
  "/length-huge": {
    does: "promises a terabyte",
    play: text(`${head200}Content-Length: 1000000000000\r\n\r\nx`),
    ends: "too_large",
  },
  "/length-beyond-number": {
    does: "promises more than a number holds",
    play: text(`${head200}Content-Length: 99999999999999999999999999\r\n\r\nx`),
    ends: "network_protocol",
  },
  "/length-negative": {
    does: "promises less than nothing",
    play: text(`${head200}Content-Length: -5\r\n\r\nhello`),
    ends: "network_protocol",
  },
  "/length-twice": {
    does: "gives two lengths",
    play: text(`${head200}Content-Length: 5\r\nContent-Length: 9\r\n\r\nhello and`),
    ends: "network_protocol",
  },
  "/length-and-chunked": {
    does: "gives a length and chunks",
    play: text(`${head200}Content-Length: 5\r\n${CHUNKED}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    ends: "network_protocol",
  },
  "/second-answer": {
    does: "sends a second answer nobody asked for",
    play: (socket) =>
      void socket.write(
        Buffer.concat([answer("200 OK", [HTML], "first"), answer("200 OK", [HTML], "poison")]),
      ),
    ends: 200,
  },
  "/no-content-with-content": {
    does: "sends a body with 204",
    play: text("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"),
    ends: 204,
  },
  "/not-modified-with-content": {
    does: "sends a body with 304",
    play: text("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"),
    ends: 304,
  },
  "/partial": { does: "sends a part unasked", play: ok302("206 Partial Content", []), ends: 206 },

  // No HTTP.
  "/http-0.9": {
    does: "answers with nothing but text",
    play: shut("<html>hello</html>"),
    ends: "network_protocol",
  },
  "/garbage": {
    does: "answers with noise",
    play: shut(Buffer.from([0x16, 3, 1, 0, 0, 0xff, 0, 1, 2, 3, 10, 13, 10])),
    ends: "network_protocol",
  },
  "/nul-in-status": {
    does: "puts NUL into its status line, which nobody reads",
    play: text("HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n"),
    ends: 200,
  },
  "/nul-in-field": {
    does: "puts NUL into a field",
    play: text("HTTP/1.1 200 OK\r\nX-Nul: a\0b\r\nContent-Length: 0\r\n\r\n"),
    ends: "network_protocol",
  },
  "/nul-in-name": {
    does: "puts NUL into a field's name",
    play: text("HTTP/1.1 200 OK\r\nX\0Nul: a\r\nContent-Length: 0\r\n\r\n"),
    ends: "network_protocol",
  },
  "/fields-100k": {
    does: "sends 100,000 fields",
    play: endless(
      "HTTP/1.1 200 OK\r\n",
      Array.from({ length: 1_000 }, (_, n) => `X-${n}: ${n}\r\n`).join(""),
    ),
    ends: "network_protocol",
  },
  "/fields-many": {
    does: "sends 3,000 short fields",
    play: text(`HTTP/1.1 200 OK\r\n${"A: 1\r\n".repeat(3_000)}Content-Length: 0\r\n\r\n`),
    ends: "network_protocol",
  },
  "/fields-300k": {
    does: "sends 300 KB of fields",
    play: text(
      `HTTP/1.1 200 OK\r\n${`X-Pad: ${"a".repeat(3_000)}\r\n`.repeat(100)}Content-Length: 0\r\n\r\n`,
    ),
    ends: "network_protocol",
  },
  "/switching": {
    does: "switches protocols unasked",
    play: text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    ends: "network_protocol",
  },
  "/chunk-size-broken": {
    does: "gives a chunk size that is none",
    play: text(`${head200}${CHUNKED}\r\n\r\nzz\r\nhello\r\n`),
    ends: "network_protocol",
  },
  "/chunk-size-huge": {
    does: "gives a chunk size beyond any number",
    play: text(`${head200}${CHUNKED}\r\n\r\nfffffffffffffffffffff\r\nhello\r\n`),
    ends: "network_protocol",
  },

  // Codings.
  "/gzip-garbage": coded(
    "gzip",
    Buffer.from("this is no gzip at all"),
    "network_encoding",
    "calls text gzip",
  ),
  "/gzip-cut": coded("gzip", gzipped.subarray(0, -40), "network_encoding", "cuts its gzip short"),
  "/gzip-wrong-sum": coded("gzip", wrongSum, "network_encoding", "gets its gzip checksum wrong"),
  "/gzip-empty": coded("gzip", Buffer.alloc(0), 200, "sends nothing as gzip"),
  "/br-garbage": coded("br", Buffer.from("\u00ffno brotli here"), "network_encoding", "calls text br"),
  "/br-cut": coded("br", brotliCompressSync(words).subarray(0, -10), "network_encoding", "cuts its br short"),
  "/zstd-garbage": coded("zstd", Buffer.from("no zstd here at all"), "network_encoding", "calls text zstd"),
  "/zstd-wide": coded("zstd", wideWindow, "network_encoding", "wants a zstd window above 8 MiB"),
  "/deflate-garbage": coded(
    "deflate",
    Buffer.from("xxno deflate here"),
    "network_encoding",
    "calls text deflate",
  ),
  "/deflate-raw": coded("deflate", deflateRawSync(words), 200, "sends deflate without its frame"),
  "/deflate-zlib": coded("deflate", deflateSync(words), 200, "sends deflate as it is meant"),
  "/coding-unknown": coded("x-rot13", Buffer.from("uryyb"), "network_encoding", "uses a coding of its own"),
  "/coding-thrice": coded(
    "gzip, gzip, gzip",
    gzipSync(gzipSync(gzipped)),
    "network_encoding",
    "codes three times",
  ),
  "/coding-twice": coded("deflate, gzip", gzipSync(deflateSync(words)), 200, "codes twice"),
  "/bomb-gzip": coded("gzip", gzipSync(zeros, { level: 9 }), "too_large", "sends a gzip bomb"),
  "/bomb-br": coded(
    "br",
    brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
    "too_large",
    "sends a br bomb",
  ),
  "/bomb-zstd": coded("zstd", zstdCompressSync(zeros), "too_large", "sends a zstd bomb"),
  "/bomb-deflate": coded("deflate", deflateSync(zeros, { level: 9 }), "too_large", "sends a deflate bomb"),
  "/bomb-nested": coded(
    "gzip, gzip",
    gzipSync(gzipSync(zeros, { level: 9 })),
    "too_large",
    "sends a bomb in a bomb",
  ),

  // Bodies that another layer judges, and that must come through as they are.
  "/nul-in-body": { does: "has NUL bytes in its page", play: ok([HTML], "<p>a\0b\0\0c</p>"), ends: 200 },
  "/wrong-charset": {
    does: "says UTF-8 and means Latin-1",
    play: ok([HTML], Buffer.from("<p>caf\xe9</p>", "latin1")),
    ends: 200,
  },
  "/nested-tags": {
    does: "sends 32 MB of nested tags",
    play: ok([HTML], Buffer.alloc(PLENTY_BYTES, "<div>")),
    ends: "too_large",
  },
  "/status-999": {
    does: "answers with a status of its own",
    play: ok302("999 Request denied", []),
    ends: 999,
  },

  // Resets and closes at every point.
  ...Object.fromEntries(
    (
      [
        ["at-once", ""],
        ["in-status-line", "HTTP/1.1 20"],
        ["in-fields", "HTTP/1.1 200 OK\r\nContent-Ty"],
        ["after-fields", `${head200}Content-Length: 10\r\n\r\n`],
        ["in-body", `${head200}Content-Length: 10\r\n\r\nhalf`],
        ["in-chunk-size", `${head200}${CHUNKED}\r\n\r\n1`],
        ["in-chunk", `${head200}${CHUNKED}\r\n\r\n10\r\nhalf`],
        ["between-chunks", `${head200}${CHUNKED}\r\n\r\n4\r\nhalf\r\n`],
        ["before-last-line", `${head200}${CHUNKED}\r\n\r\n4\r\nhalf\r\n0\r\n`],
      ] as const
    ).flatMap(([point, bytes]): [string, Hostility][] => [
      [`/reset-${point}`, { does: `resets ${point}`, play: reset(bytes), ends: "network_reset" }],
      [`/close-${point}`, { does: `closes ${point}`, play: shut(bytes), ends: "network_reset" }],
    ]),
  ),
};

/** Whatever else is asked for is answered well. */
const fine: Play = (socket, { path }) =>
  void socket.write(answer("200 OK", [HTML, 'ETag: "1"'], `<title>${path}</title>`));

/** `plays` adds paths, or replaces them. `tls` speaks HTTP/1.1 over TLS with the project's test certificate. */
export async function hostileSite({
  plays = {},
  tls = false,
}: { plays?: Readonly<Record<string, Play>>; tls?: boolean } = {}): Promise<HostileSite> {
  const requests: HostileRequest[] = [];
  const sockets = new Set<Socket>();
  const empty: (() => void)[] = [];

  const converse = (socket: Socket) => {
    let head = "";
    let skipped = 0;
    // Resets are the point of the site.
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const read = bytes.toString("latin1");
      head += read.slice(skipped);
      skipped = Math.max(0, skipped - read.length);
      for (let end = head.indexOf("\r\n\r\n"); end >= 0; end = head.indexOf("\r\n\r\n")) {
        const request = readHead(head.slice(0, end));
        const length = Number(request.headers.get("content-length") ?? 0);
        skipped = Math.max(0, length - (head.length - end - 4));
        head = head.slice(end + 4 + length);
        requests.push(request);
        const path = request.path.split(/[?#]/)[0]!;
        const play = plays[path] ?? (HOSTILE[path] ?? HOSTILE[`/${path.split("/")[1]}`])?.play ?? fine;
        play(socket, request);
      }
    });
  };
  const server = tls
    ? createTlsServer(
        { key: pem("site.key.pem"), cert: pem("site.cert.pem"), ALPNProtocols: ["http/1.1"] },
        converse,
      )
    : createTcpServer({ allowHalfOpen: false }, converse);
  server.on("tlsClientError", () => {});
  server.on("connection", (socket: Socket) => {
    const port = socket.remotePort!;
    sockets.add(socket);
    TCP_BELOW.set(port, socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      if (TCP_BELOW.get(port) === socket) TCP_BELOW.delete(port);
      if (sockets.size === 0) for (const tell of empty.splice(0)) tell();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    origin: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    port,
    requests,
    sockets: () => sockets.size,
    emptied: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => empty.push(resolve))),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function readHead(head: string): HostileRequest {
  const [first, ...lines] = head.split("\r\n") as [string, ...string[]];
  const [method, path] = first.split(" ") as [string, string];
  const raw = lines.flatMap((line) => [
    line.slice(0, line.indexOf(":")),
    line.slice(line.indexOf(":") + 1).trim(),
  ]);
  const headers = new Map<string, string>();
  for (let i = 0; i < raw.length; i += 2) headers.set(raw[i]!.toLowerCase(), raw[i + 1]!);
  return { method, path, headers, raw };
}

export const pem = (name: string): string =>
  readFileSync(new URL(`../fixtures/egress/${name}`, import.meta.url), "utf8");
