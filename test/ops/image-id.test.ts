/** The id of an image follows from what it holds, not from the container in which buildah built it. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { removeBuild } from "../../ops/release/image-id.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A folder as `buildah push ID dir:FOLDER` writes it. */
function pushed(container: string, host: string, user = "10001:10001"): string {
  const folder = mkdtempSync(join(tmpdir(), "image-id-"));
  folders.push(folder);
  const config = { Hostname: host, User: user, Healthcheck: { Test: ["CMD", "node"] } };
  const rootfs = { type: "layers", diff_ids: ["sha256:aa"] };
  const history = [{ created_by: "/bin/sh -c true", comment: `FROM ${container}` }, { comment: "kept" }];
  const parent = `sha256:${digestOf(container)}`;
  const written = JSON.stringify({ container, parent, container_config: config, config, rootfs, history });
  const digest = digestOf(written);
  writeFileSync(join(folder, digest), written);
  writeFileSync(join(folder, "bb"), "layer");
  writeFileSync(
    join(folder, "manifest.json"),
    JSON.stringify({
      schemaVersion: 2,
      config: {
        mediaType: "application/vnd.docker.container.image.v1+json",
        size: written.length,
        digest: `sha256:${digest}`,
      },
      layers: [{ size: 5, digest: "sha256:bb" }],
    }),
  );
  return folder;
}

test("two builds of the same have the same id", () => {
  const id = removeBuild(pushed("c1", "h1"));
  expect(removeBuild(pushed("c2", "h2"))).toBe(id);
  expect(removeBuild(pushed("c1", "h1", "0:0"))).not.toBe(id);
});

test("the folder names the new configuration, whose other fields stay", () => {
  const folder = pushed("c1", "h1");
  const id = removeBuild(folder);
  const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  const written = readFileSync(join(folder, id.replace("sha256:", "")), "utf8");
  expect(manifest).toMatchObject({
    schemaVersion: 2,
    config: { digest: id, size: written.length },
    layers: [{ size: 5, digest: "sha256:bb" }],
  });
  expect(`sha256:${digestOf(written)}`).toBe(id);
  const config = { Hostname: "", User: "10001:10001", Healthcheck: { Test: ["CMD", "node"] } };
  expect(JSON.parse(written)).toEqual({
    container_config: config,
    config,
    rootfs: { type: "layers", diff_ids: ["sha256:aa"] },
    history: [{ created_by: "/bin/sh -c true" }, { comment: "kept" }],
  });
  expect(readdirSync(folder)).toHaveLength(3);
});
