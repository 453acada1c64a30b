/** The window and the device of a page in a real browser, and what it does not load because its caller blocks it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TransportRequest } from "../../../../actors/lib/web/transport.ts";
import { type BrowserSetup, describeOneBrowser } from "../../../harness/browser-harness.ts";
import { article } from "../../../harness/web.ts";

const SVG = {
  type: "image/svg+xml",
  body: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>',
};
const PICTURE = { type: "png", full_page: false } as const;

describeOneBrowser("a page as it is shown", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => (it = await openSetup()));
  afterAll(() => it.close());
  const rendered = async (url: string, over: Partial<TransportRequest>) => {
    const answer = await it.fetch(url, over);
    if (answer.kind !== "page") throw new Error(JSON.stringify(answer));
    return answer;
  };
  const textOf = async (over: Partial<TransportRequest>) => {
    const site = it.web.site({
      "/": {
        body: `<meta name=viewport content="width=device-width"><p id=seen></p>
          <script>seen.textContent = [innerWidth, innerHeight, navigator.maxTouchPoints > 0, matchMedia("(pointer: coarse)").matches].join()</script>`,
      },
    });
    const { body, screenshot } = await rendered(`${site.origin}/`, over);
    const [, seen] = /id="seen">([^<]*)</.exec(body.toString())!;
    const agent = site.arrivals[0]!.headers["user-agent"];
    return { seen, agent, picture: screenshot && [screenshot.width, screenshot.height] };
  };

  test("has the window that was asked for, and so has its picture", async () => {
    const view = { device: "desktop", width: 1920, height: 1080 } as const;
    expect(await textOf({ view, screenshot: PICTURE })).toMatchObject({
      seen: "1920,1080,false,false",
      picture: [1920, 1080],
    });
    expect((await textOf({})).seen).toBe("1280,720,false,false");
  });

  test("is a phone's, with its touch screen and what it says of itself", async () => {
    const view = { device: "mobile", width: 412, height: 915 } as const;
    const phone = await textOf({ view, screenshot: PICTURE });
    expect(phone).toMatchObject({ seen: "412,915,true,true", picture: [412, 915] });
    expect(phone.agent).toMatch(
      /^Mozilla\/5\.0 \(Linux; Android 10; K\) .* Chrome\/\d+\.0\.0\.0 Mobile Safari/,
    );
    const own = await textOf({ view, user_agent: "example-bot/1.0" });
    expect(own).toMatchObject({ seen: "412,915,true,true", agent: "example-bot/1.0" });
  });

  test("that is not made for phones is seen whole on one, and its picture has the size that it says", async () => {
    const site = it.web.site({ "/": { body: article("Wide") } });
    const view = { device: "mobile", width: 412, height: 915 } as const;
    for (const full_page of [false, true]) {
      const { screenshot } = await rendered(`${site.origin}/`, {
        view,
        screenshot: { type: "png", full_page },
      });
      const { width, height, bytes } = screenshot!;
      expect([width, height]).toEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]);
      expect(full_page || (width === 412 && height === 915)).toBe(true);
    }
  });

  test("loads nothing of what is blocked, and everything else", async () => {
    const ads = it.web.site({ "*": { type: "text/javascript", body: "" } }, "static.doubleclick.net.");
    const other = it.web.site({ "*": { type: "text/javascript", body: "" } }, "doubleclick");
    const site = it.web.site({
      "/": {
        body: `${article("Loads")}<link rel=stylesheet href=/a.css><img src=/a.svg>
          <script src="${ads.origin}/ad.js"></script><iframe src="${ads.origin}/frame"></iframe>
          <script src="${other.origin}/x.js?for=doubleclick.net"></script>`,
      },
      "/a.css": { type: "text/css", body: "" },
      "/a.svg": SVG,
    });
    const loaded = async (over: Partial<TransportRequest>) => {
      const before = [site, ads, other].map(({ arrivals }) => arrivals.length);
      await rendered(`${site.origin}/`, over);
      return [site, ads, other].flatMap(({ arrivals }, at) =>
        arrivals.slice(before[at]).map(({ path }) => path),
      );
    };
    const all = ["/", "/a.css", "/a.svg", "/ad.js", "/frame", "/x.js?for=doubleclick.net"];
    const without = (...paths: string[]) => all.filter((path) => !paths.includes(path)).toSorted();
    expect((await loaded({ screenshot: PICTURE })).toSorted()).toEqual(all.toSorted());
    expect((await loaded({ screenshot: PICTURE, blocked: ["ads"] })).toSorted()).toEqual(
      without("/ad.js", "/frame"),
    );
    expect((await loaded({ screenshot: PICTURE, blocked: ["image", "stylesheet"] })).toSorted()).toEqual(
      without("/a.svg", "/a.css"),
    );
    expect((await loaded({ blocked: ["stylesheet"] })).toSorted()).toEqual(without("/a.svg", "/a.css"));
  });
});
