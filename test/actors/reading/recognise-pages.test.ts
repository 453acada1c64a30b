/** Scanned pages: how many of a document are recognised, and what is said of the others. */
import { describe, expect, test } from "vitest";
import { type Recognise, recognisePages } from "../../../actors/reading/recognise-pages.ts";
import { type Extracted, NOTHING } from "../../../actors/reading/extraction-result.ts";
import { virtualClock } from "../../../cluster/adapters/time/clock.virtual.ts";

const signal = new AbortController().signal;

describe("the scanned pages of a document", () => {
  const clock = virtualClock();
  const document = (pages: number): Extracted => ({
    ...NOTHING,
    pdf_pages: Array.from({ length: pages }, (_, i) => ({ page: i + 1, text: "", needs_ocr: true })),
    note: "first",
  });
  const task = { bytes: Buffer.alloc(0), url: "", content_type: null, kind: "pdf", now_ms: 0 } as const;
  async function recognised(pages: number, recognise: Recognise, stop = signal) {
    const read: (readonly number[])[] = [];
    const deps = {
      clock,
      recognise,
      draw: async () => ({ kind: "done", value: Buffer.from("P5") }) as const,
      async read({ recognised: found }: { recognised?: ReadonlyMap<number, string> }) {
        read.push([...found!.keys()]);
        return { kind: "done", value: { ...NOTHING, text: [...found!.values()].join(" ") } } as const;
      },
    };
    return { ...(await recognisePages(deps, task, document(pages), stop)), read };
  }

  test("are recognised up to a number, and the note says so", async () => {
    const { note, read } = await recognised(40, async () => "word\f");
    expect(note).toBe("The text of 30 of 40 scanned pages was recognised");
    expect(read).toEqual([Array.from({ length: 30 }, (_, i) => i + 1)]);
  });

  test("are recognised up to a time", async () => {
    const { note } = await recognised(9, async () => {
      await clock.advance(9_000);
      return "word";
    });
    expect(note).toBe("The text of 3 of 9 scanned pages was recognised");
  });

  test("stay as they are where none can be recognised", async () => {
    const { note, read } = await recognised(3, async (_, at) => (at.aborted ? "" : null));
    expect(note).toBe("first; The text of 0 of 3 scanned pages was recognised, 3 could not be");
    expect(read).toEqual([]);
  });

  test("are no longer recognised for a caller that has left", async () => {
    const leaving = new AbortController();
    const { read } = await recognised(
      5,
      async () => {
        leaving.abort();
        return "word";
      },
      leaving.signal,
    );
    expect(read).toEqual([[1]]);
  });
});
