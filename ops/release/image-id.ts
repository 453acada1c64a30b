/**
 * The id of an image is the digest of its configuration. In Docker's format, the one with health checks, buildah writes there the id and the host name of the
 * container in which it built, so that two builds with equal layers have different ids. Without the two the id follows from what the image holds.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Fields of an image's configuration in Docker's format (Docker Image Specification 1.2) that are of the build. */
interface Configuration {
  readonly container?: string;
  readonly config?: { readonly Hostname?: string };
  readonly container_config?: { readonly Hostname?: string };
}

interface Manifest {
  readonly config: { readonly digest: string; readonly size: number };
}

/** The same configuration without the container of its build. */
export function withoutBuild(given: Configuration): Configuration {
  const { container: _, config, container_config, ...rest } = given;
  return {
    ...rest,
    ...(config && { config: { ...config, Hostname: "" } }),
    ...(container_config && { container_config: { ...container_config, Hostname: "" } }),
  };
}

/** Rewrites the image of a folder that `buildah push ID dir:FOLDER` has written. The id that it has then, `sha256:…`. */
export function removeBuild(folder: string): string {
  const manifest_path = join(folder, "manifest.json");
  const manifest = JSON.parse(readFileSync(manifest_path, "utf8")) as Manifest;
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
