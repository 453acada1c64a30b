/** Content by wish: a page is read anew from its stored body for a caller with other wishes; the site is asked once. */
import { expect, test } from "vitest";
import { tasks } from "../../../../actors/reading/extract.ts";
import type { PageFormats, PageRecord } from "../../../../schemas/fetch.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

const PAGE = HTML.replace("<h1>", '<nav><a href="/home">Home page</a></nav><h1>');
const READING = { only_main_content: null, include: [] as string[], exclude: [] as string[] };
const WITH_MENU = { ...READING, only_main_content: false };
const ONLY_MENU = { ...READING, include: ["nav"] };

async function counted() {
  let asked = 0;
  const service = await oneService({ direct: () => (asked++, answer(PAGE)) });
  return { ...service, asked: () => asked };
}

type Service = Awaited<ReturnType<typeof counted>>;

async function linksOf({ bodies }: Service, { formats_sha256 }: PageRecord): Promise<string[]> {
  const pieces = await bodies.get(formats_sha256!);
  const formats = JSON.parse(Buffer.concat(await Array.fromAsync(pieces!)).toString()) as PageFormats;
  return formats.links.map(({ text }) => text);
}

test("a stored page is read anew with other wishes, and the site is not asked again", async () => {
  const service = await counted();
  const plain = await running(service.clock, service.get());
  const menu = await running(service.clock, service.get({ reading: ONLY_MENU, with_formats: true }));
  expect(menu).toMatchObject({ cached: true, error: null, record: { text: "Home page", text_chars: 9 } });
  expect(menu.record).toMatchObject({ sha256: plain.record.sha256, title: plain.record.title });
  expect(await linksOf(service, menu.record)).toEqual(["Home page"]);
  const whole = await running(service.clock, service.get({ reading: WITH_MENU }));
  expect(whole.record.text).toContain("Home page");
  expect(whole.record.text).toContain(plain.record.text!.slice(0, 60));
  expect(service.asked()).toBe(1);
});

test("wishes of one caller change nothing of the stored page and of what others get", async () => {
  const service = await counted();
  const first = await running(service.clock, service.get({ reading: ONLY_MENU }));
  expect(first).toMatchObject({ cached: false, record: { text: "Home page" } });
  const plain = await running(service.clock, service.get({ with_formats: true }));
  expect(plain.record.text).toContain("The boats come in at dawn");
  expect(plain.record.text).not.toContain("Home page");
  expect(service.asked()).toBe(1);
});

test("callers with different wishes at the same time each get theirs, and the site is asked once", async () => {
  const service = await counted();
  const wishes = [undefined, ONLY_MENU, WITH_MENU, ONLY_MENU];
  const all = Promise.all(wishes.map((reading) => service.get(reading ? { reading } : {})));
  const texts = (await running(service.clock, all)).map(({ record }) => record.text!);
  expect(
    texts.map((text) => [text === "Home page", text.includes("boats"), text.includes("Home page")]),
  ).toEqual([
    [false, true, false],
    [true, false, true],
    [false, true, true],
    [true, false, true],
  ]);
  expect(service.asked()).toBe(1);
});

test("a page whose stored body is lost is fetched anew", async () => {
  const service = await counted();
  const { record } = await running(service.clock, service.get());
  await service.bodies.remove(record.sha256!);
  await service.bodies.remove(record.sha256!);
  const menu = await running(service.clock, service.get({ reading: ONLY_MENU }));
  expect(menu).toMatchObject({ cached: false, record: { text: "Home page" } });
  expect(service.asked()).toBe(2);
});

test("what has no elements is answered as it is stored", async () => {
  const text = () => answer("plain words", 200, { "content-type": "text/plain" });
  const service = await oneService({ direct: text });
  const read = await running(service.clock, service.get({ reading: ONLY_MENU, min_text_chars: 0 }));
  expect(read).toMatchObject({ error: null, record: { text: "plain words" } });
});

test.each([
  ["timeout", "unreadable_document", null],
  ["full", "domain_busy", 10],
] as const)("a reading that fails by %s is answered with %s", async (reason, error, retry_after_s) => {
  const readPage = await tasks.page();
  const service = await oneService(
    { direct: () => answer(PAGE) },
    {
      extract: async (task) =>
        task.reading
          ? { kind: "failed", reason, detail: "" }
          : { kind: "done", value: await readPage(task, () => 0) },
    },
  );
  const failed = await running(service.clock, service.get({ reading: ONLY_MENU }));
  expect(failed).toMatchObject({ error, retry_after_s, error_detail: expect.stringContaining(reason) });
  expect(await running(service.clock, service.get())).toMatchObject({ cached: true, error: null });
});
