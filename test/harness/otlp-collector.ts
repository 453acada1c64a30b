/** A collector of traces on loopback: takes OTLP over HTTP (protobuf) and remembers the spans. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  /** "" for the first span of a trace. */
  readonly parent_id: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** 2: the work failed. */
  readonly status: number;
}

export interface OtlpCollector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  readonly close: () => Promise<void>;
}

export async function otlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isTraces = request.method === "POST" && request.url === "/v1/traces";
      if (isTraces) spans.push(...spansOf(Buffer.concat(chunks)));
      response.writeHead(isTraces ? 200 : 404, { "content-type": "application/x-protobuf" }).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** opentelemetry-proto, collector/trace/v1 and trace/v1: resource_spans 1, scope_spans 2, spans 2. */
const spansOf = (request: Buffer): readonly CollectedSpan[] =>
  all(request, 1)
    .flatMap((resource) => all(resource, 2))
    .flatMap((scope) => all(scope, 2))
    .map((span) => ({
      trace_id: first(span, 1).toString("hex"),
      span_id: first(span, 2).toString("hex"),
      parent_id: first(span, 4).toString("hex"),
      name: first(span, 5).toString(),
      kind: number(span, 6),
      attributes: Object.fromEntries(all(span, 9).map(attributeOf)),
      status: number(first(span, 15), 3),
    }));

function attributeOf(attribute: Buffer): readonly [string, string | number] {
  const value = first(attribute, 2);
  const [text] = all(value, 1);
  return [first(attribute, 1).toString(), text ? text.toString() : number(value, 3)];
}

interface Field {
  readonly id: number;
  readonly value: Buffer | number;
}

/** The fields of a message, by Protocol Buffers' wire format: varint 0, 64 bits 1, bytes 2, 32 bits 5. */
function fieldsOf(message: Buffer): readonly Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(value);
    }
  };
  const bytes = (length: number): Buffer => message.subarray(at, (at += length));
  while (at < message.length) {
    const tag = varint();
    const type = tag & 7;
    fields.push({
      id: tag >> 3,
      value: type === 0 ? varint() : bytes(type === 1 ? 8 : type === 5 ? 4 : varint()),
    });
  }
  return fields;
}

const all = (message: Buffer, id: number): readonly Buffer[] =>
  fieldsOf(message).flatMap((field) =>
    field.id === id && Buffer.isBuffer(field.value) ? [field.value] : [],
  );
const first = (message: Buffer, id: number): Buffer => all(message, id)[0] ?? Buffer.alloc(0);
const number = (message: Buffer, id: number): number =>
  (fieldsOf(message).find((field) => field.id === id)?.value as number | undefined) ?? 0;
