/** The text of a document: extracted once for all callers, stored for later ones, and not stored when it was cut off. */
import { expect, test } from "vitest";
import { asFilingText, filingTextActor, textKey } from "../../../../actors/sources/filings/text.actor.ts";
import { tasks } from "../../../../actors/reading/extract.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import type { TaskFailure } from "../../../../cluster/ports/workers.ts";
import { TEXT_INLINE_BYTES } from "../../../../schemas/fetch.ts";
import { FilingTextExtractor } from "../../../../schemas/filings.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";

const URL_READ = "https://www.filings.test/Archives/edgar/data/1/000000000124000001/x.htm";

function extractorHarness() {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const documents = memoryDocuments();
  const blobs = memoryBlobs();
  const page = tasks.page();
  const seen = { read: 0, fails: null as TaskFailure | null };
  const reader = filingTextActor({
    clock,
    documents,
    blobs,
    ...silentTelemetry(),
    async extract(task) {
      seen.read++;
      if (seen.fails) return { kind: "failed", reason: seen.fails, detail: "" };
      return { kind: "done", value: await (await page)(task, () => 0) };
    },
  });
  const { ask } = embedded([reader], { clock, random: seededRandom(1), documents });
  const read = async (content: string, content_type: string | null = "text/html") => {
    const { sha256, bytes } = await blobs.put(Buffer.from(content));
    const request = { sha256, bytes, url: URL_READ, content_type, project: "p" };
    return ask(FilingTextExtractor, textKey(request), "extract", request);
  };
  const stored = async (content: string, content_type = "text/html") => {
    const { sha256 } = await blobs.put(Buffer.from(content));
    const key = textKey({ sha256, content_type, url: URL_READ });
    return asFilingText((await documents.get("filing_texts", key))?.value);
  };
  return { read, kept: stored, seen, bodies: blobs };
}

test("reads the same bytes under another content type anew, and keeps both texts", async () => {
  const { read, kept: stored, seen } = extractorHarness();
  expect(await read("<p>One &amp; two", "text/html")).toMatchObject({
    content_kind: "html",
    text: "One & two",
  });
  const plain = await read("<p>One &amp; two", "text/plain");
  expect(plain).toMatchObject({ content_kind: "text", text: "<p>One &amp; two" });
  expect(await stored("<p>One &amp; two")).toMatchObject({ content_kind: "html" });
  expect(await stored("<p>One &amp; two", "text/plain")).toEqual(plain);
  expect(seen.read).toBe(2);
});

const PAGE =
  "<DOCUMENT>\n<TYPE>EX-99.1\n<TEXT>\n<title>One</title><p>First.<p>Second.\n</TEXT>\n</DOCUMENT>\n";

test("reads a document once for all callers that ask at the same time", async () => {
  const { read, kept: stored, seen } = extractorHarness();
  const texts = await Promise.all([read(PAGE), read(PAGE), read(PAGE)]);
  expect(texts[0]).toMatchObject({
    content_kind: "html",
    title: "One",
    text: "First.\n\nSecond.",
    charset: "UTF-8",
  });
  expect(texts[1]).toEqual(texts[0]);
  expect(seen.read).toBe(1);
  expect(await stored(PAGE)).toEqual(texts[0]);
});

test("keeps a long text as a body", async () => {
  const { read, bodies: blobs } = extractorHarness();
  const long = await read(`<p>${"word ".repeat(TEXT_INLINE_BYTES)}</p>`);
  expect([long.text, long.text_chars]).toEqual([null, TEXT_INLINE_BYTES * 5 - 1]);
  expect(await blobs.head(long.text_sha256!)).toEqual({ bytes: long.text_chars });
});

test("reports a truncated extraction, and stores nothing of it", async () => {
  const { read, kept: stored, seen } = extractorHarness();
  seen.fails = "timeout";
  expect(await read(PAGE)).toMatchObject({ text: "", note: "Cannot read the document: timeout" });
  expect(await stored(PAGE)).toBeNull();
  seen.fails = null;
  expect(await read(PAGE)).toMatchObject({ text: "First.\n\nSecond.", note: null });
});

test.each(["full", "unavailable"] as const)(
  "is a fault when there was no room to read it: %s",
  async (reason) => {
    const { read, kept: stored, seen } = extractorHarness();
    seen.fails = reason;
    await expect(read(PAGE)).rejects.toMatchObject({ name: "Fault", code: "overloaded" });
    expect(await stored(PAGE)).toBeNull();
    seen.fails = null;
    expect(await read(PAGE)).toMatchObject({ text: "First.\n\nSecond." });
  },
);

test("reads nothing out of a picture", async () => {
  const { read } = extractorHarness();
  const picture = `\u0089PNG\r\n\u001a\n${"\u0000".repeat(40)}`;
  expect(await read(picture, "image/png")).toMatchObject({ content_kind: "binary", text: "", text_chars: 0 });
});
