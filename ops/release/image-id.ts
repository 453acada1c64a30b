/**
 * The id of an image is the digest of its configuration. In Docker's format, the one with health checks, buildah writes there the id and the host name of the
 * container in which it built, and the id of the stage before, which has them, too: two builds with equal layers have different ids. Without these the id
 * follows from what the image holds.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Fields of an image's configuration in Docker's format (Docker Image Specification 1.2) that are of the build. */
interface Configuration {
  readonly container?: string;
  /** The image of the stage before; buildah repeats it in a comment of the history, "FROM ID". */
  readonly parent?: string;
  readonly history?: readonly { readonly comment?: string }[];
  readonly config?: { readonly Hostname?: string };
  readonly container_config?: { readonly Hostname?: string };
}

/** The configuration without the containers of its build. */
export function withoutBuild(given: Configuration): Configuration {
  const { container: _container, parent: _parent, config, container_config, history, ...rest } = given;
  return {
    ...rest,
    ...(history && { history: history.map(withoutStage) }),
    ...(config && { config: { ...config, Hostname: "" } }),
    ...(container_config && { container_config: { ...container_config, Hostname: "" } }),
  };
}

function withoutStage({ comment, ...step }: { readonly comment?: string }): object {
  return comment === undefined || comment.startsWith("FROM ") ? step : { ...step, comment };
}

/** Rewrites the image of a folder that `buildah push ID dir:FOLDER` has written. The id that it has then, `sha256:…`. */
export function removeBuild(folder: string): string {
  const manifest_path = join(folder, "manifest.json");
  const manifest = JSON.parse(readFileSync(manifest_path, "utf8")) as {
    readonly config: { readonly digest: string; readonly size: number };
  };
  const pathOf = (digest: string): string => join(folder, digest.replace("sha256:", ""));
  const given = readFileSync(pathOf(manifest.config.digest));
  const written = Buffer.from(JSON.stringify(withoutBuild(JSON.parse(given.toString()) as Configuration)));
  const digest = `sha256:${createHash("sha256").update(written).digest("hex")}`;
  rmSync(pathOf(manifest.config.digest));
  writeFileSync(pathOf(digest), written);
  const config = { ...manifest.config, digest, size: written.length };
  writeFileSync(manifest_path, JSON.stringify({ ...manifest, config }));
  return digest;
}
