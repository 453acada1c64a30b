/**
 * A page that was made to cost much is unreadable or read within seconds, and another project is answered
 * meanwhile. Over HTTP.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { nestedBombPage, writePdf } from "../actors/reading/content/pdf-writer.ts";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const MB = 2 ** 20;

describe.each(SETUPS)("hostile input, $setup", ({ start }) => {
  const { sites, service } = scenario(start);
  const keys = { first: "", second: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });

  test("a PDF of less than 4 KB that inflates without end is unreadable, and says why", async () => {
    const body = writePdf({ pages: [nestedBombPage(200 * MB)] });
    expect(body.length).toBeLessThan(4_000);
    const site = sites.site({ "/a.pdf": { type: "application/pdf", body } });
    const other = sites.site({ "/": { body: article("Beside it") } });
    const [bomb, beside] = await Promise.all([
      service.fetch({ url: `${site.origin}/a.pdf` }, { key: keys.first }),
      service.fetch({ url: `${other.origin}/` }, { key: keys.second }),
    ]);
    expect(bomb).toMatchObject({ error: "unreadable_document", text: "", status: 200 });
    expect(bomb.error_detail).toContain("a stream that inflates to more than 64 MB");
    expect(beside).toMatchObject({ error: null, title: "Beside it" });
  });

  test.each(["\u3000", "\u2003", "\u2028"])("a title of 20,000 times %j is read", async (space) => {
    const title = `a${space.repeat(20_000)}b`;
    const body = article("Read all the same").replace(/<title>[^<]*/, `<title>${title}`);
    expect(body).toContain(title);
    const site = sites.site({ "/": { body } });
    expect(await service.fetch({ url: `${site.origin}/` }, { key: keys.first })).toMatchObject({
      error: null,
      content_kind: "html",
    });
  });
});
