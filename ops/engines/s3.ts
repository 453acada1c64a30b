/**
 * S3: versitygw over plain files, or moto where there is no Go.
 *
 * moto keeps everything in memory: after kill and restart its bucket is there and empty.
 */
import { mkdir } from "node:fs/promises";
import { makeBucket } from "./adapters/bucket.s3.ts";
import type { Program, Settings } from "./engine.ts";

const BUCKET = "trawl";
const KEY = "trawl";
const SECRET = "trawl-secret";
const REGION = "us-east-1";

const settings = (port: number): Settings => ({
  TRAWL_BLOBS: `s3://${BUCKET}/bodies`,
  S3_ENDPOINT: `http://127.0.0.1:${port}`,
  AWS_ACCESS_KEY_ID: KEY,
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_REGION: REGION,
});

/** It answers when the bucket is there. */
async function answers(port: number): Promise<boolean> {
  await makeBucket(BUCKET, {
    endpoint: `http://127.0.0.1:${port}`,
    region: REGION,
    credentials: { accessKeyId: KEY, secretAccessKey: SECRET },
  });
  return true;
}

export function versitygw(binary: string, version: string): Program {
  return {
    name: "blobs",
    title: `versitygw ${version}`,
    prepare: async (data) => {
      await mkdir(`${data}/files`, { recursive: true });
      await mkdir(`${data}/metadata`);
    },
    command: (data, port) => {
      const account = [`ROOT_ACCESS_KEY=${KEY}`, `ROOT_SECRET_KEY=${SECRET}`, `VGW_REGION=${REGION}`];
      const server = ["--port", `127.0.0.1:${port}`, "--keep-alive", "--quiet"];
      // Metadata beside the files, because not every file system under /tmp has extended attributes.
      const store = ["posix", "--sidecar", `${data}/metadata`, `${data}/files`];
      return ["env", ...account, binary, ...server, ...store];
    },
    answers,
    settings,
  };
}

export function moto(packages: string, python: string, version: string): Program {
  return {
    name: "blobs",
    title: `moto ${version}`,
    command: (_, port) => {
      const server = [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)];
      return ["env", `PYTHONPATH=${packages}`, ...server];
    },
    answers,
    settings,
  };
}
