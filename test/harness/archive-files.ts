/** Makes WARC files as other writers have them, and uploads files to a service as a client does. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { ArchiveImportView } from "../../schemas/archives.ts";
import type { RequestOptions } from "./http-response.ts";
import type { Service } from "./service.ts";

type Fields = Readonly<Record<string, string>>;

/** A WARC record; `Content-Length` may be said otherwise. */
export function record(type: string, fields: Fields, block: Buffer | string, version = "1.1"): Buffer {
  const bytes = Buffer.from(block);
  const all = {
    "WARC-Type": type,
    "WARC-Record-ID": idOf(type, fields),
    "Content-Length": String(bytes.length),
    ...fields,
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`WARC/${version}\r\n${head.join("")}\r\n`),
    bytes,
    Buffer.from("\r\n\r\n"),
  ]);
}

const idOf = (type: string, fields: Fields): string =>
  `<urn:uuid:${createHash("sha1")
    .update(JSON.stringify([type, fields]))
    .digest("hex")
    .slice(0, 32)}>`;

/** A response of HTTP with this body. */
export function response(
  url: string,
  date: string,
  body: Buffer | string,
  more: { readonly fields?: Fields; readonly warc?: Fields; readonly status?: string } = {},
): Buffer {
  const fields = { "Content-Type": "text/html; charset=utf-8", ...more.fields };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`HTTP/1.1 ${more.status ?? "200 OK"}\r\n${lines.join("")}\r\n`);
  return record(
    "response",
    {
      "WARC-Target-URI": url,
      "WARC-Date": date,
      "Content-Type": "application/http; msgtype=response",
      ...more.warc,
    },
    Buffer.concat([head, Buffer.from(body)]),
  );
}

export const members = (...records: readonly Buffer[]): Buffer =>
  Buffer.concat(records.map((each) => gzipSync(each)));

export const announcement = (file: Buffer, name: string, shared?: boolean) => ({
  name,
  bytes: file.length,
  sha256: createHash("sha256").update(file).digest("hex"),
  ...(shared !== undefined && { shared }),
});

export interface UploadOptions extends Pick<RequestOptions, "key"> {
  readonly name?: string;
  readonly shared?: boolean;
  readonly part_bytes?: number;
}

/** Uploads the file from where its upload stands. */
export async function upload(
  service: Pick<Service, "call">,
  file: Buffer,
  { name = "import.warc.gz", shared, part_bytes = 1_048_576, ...who }: UploadOptions = {},
): Promise<ArchiveImportView> {
  const announced = await service.call("POST", "/v1/archives", {
    ...who,
    body: announcement(file, name, shared),
  });
  if (announced.status > 201) throw new Error(`${announced.status}: ${announced.bytes.toString()}`);
  let view = announced.json as ArchiveImportView;
  while (view.state === "uploading") {
    const offset = view.received_bytes;
    const sent = await service.call("PATCH", `/v1/archives/${view.id}?offset=${offset}`, {
      ...who,
      headers: { "Content-Type": "application/octet-stream" },
      body: file.subarray(offset, offset + part_bytes),
    });
    if (sent.status !== 200) throw new Error(`${sent.status}: ${sent.bytes.toString()}`);
    view = sent.json as ArchiveImportView;
  }
  return view;
}

/** Resolves when the file was read. */
export async function imported(
  service: Pick<Service, "call">,
  file: Buffer,
  options: UploadOptions = {},
): Promise<ArchiveImportView> {
  const { id } = await upload(service, file, options);
  return ended(service, id, options);
}

export async function ended(
  service: Pick<Service, "call">,
  id: string,
  { key }: Pick<UploadOptions, "key"> = {},
): Promise<ArchiveImportView> {
  const who = key === undefined ? {} : { key };
  for (let n = 0; n < 600; n++) {
    const { json } = await service.call("GET", `/v1/archives/${id}`, who);
    if (json.state === "done" || json.state === "failed") return json;
    await sleep(100);
  }
  throw new Error(`The import ${id} does not end`);
}
