/**
 * The images of ops/deploy/Containerfile, really built and started (harness/images.ts). It takes minutes and needs root, buildah and mmdebstrap, so vitest.config.ts
 * has it only where IMAGES names stages: `IMAGES=gateway,worker,browser,all npm test -- test/scenarios/images.test.ts`; DEBIAN=bookworm takes Debian 12 as the base.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { readBuildInfo } from "../../ops/build-info.ts";
import { engines } from "../harness/engines.ts";
import { type BuiltImage, imageBuilder, stagesToBuild } from "../harness/images.ts";

const debian = process.env["DEBIAN"] ?? "trixie";
const ROOT = new URL("../..", import.meta.url).pathname;
const { version, commit } = readBuildInfo(ROOT);
const images = imageBuilder(ROOT, {
  folder: process.env["IMAGES_DIR"] ?? join(tmpdir(), "trawl-images"),
  debian,
  commit: commit!,
  version,
});
const shared = Object.assign({}, ...Object.values(await engines()));
/** Browsers and the fonts of the world are most of the last two. */
const MAX_BYTES: Readonly<Record<string, number>> = {
  gateway: 250e6,
  worker: 450e6,
  browser: 1_500e6,
  all: 1_500e6,
};
const MAX_BUILD_MS = 20 * 60_000;

describe.each(stagesToBuild())(`the image %s on ${debian}`, (stage) => {
  let image: BuiltImage;
  beforeAll(() => {
    image = images.build(stage);
    process.stdout.write(`${stage} on ${debian}: ${image.bytes / 1e6} MB\n`);
  }, MAX_BUILD_MS);

  test("is of an ordinary user, checks its health and says what it is", () => {
    expect(image.user).toBe("10001:10001");
    expect(image.health_check).toContain("node");
    expect(image.labels).toMatchObject({
      "org.opencontainers.image.licenses": "Apache-2.0",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.revision": commit,
    });
  });

  test("has no more bytes than it may", () => {
    expect(image.bytes).toBeLessThan(MAX_BYTES[stage]!);
  });

  test("has the same id when it is built anew", { timeout: MAX_BUILD_MS }, () => {
    const again = images.build(stage);
    expect(again.layers).toEqual(image.layers);
    expect(again.id).toBe(image.id);
  });

  test("starts on a read-only root file system, answers and drains", async () => {
    const answer = await images.ask(image, stage === "all" ? {} : shared);
    expect(answer).toMatchObject({ health: 200, check_code: 0, exit_code: 0 });
    expect(answer.ready).toMatchObject({ version, http_server: expect.stringContaining("uWebSockets.js") });
  });
});
