import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { response } from "../archive-files.ts";

/** More than the service takes in one part. */
const BODY_BYTES = 9 * 2 ** 20;

/** A WARC file of one capture in a folder, which a client uploads in two parts; its path. */
export function archiveFile(folder: string): string {
  const path = join(folder, "town.warc");
  const page = `<title>The old harbour</title>${" ".repeat(BODY_BYTES)}`;
  writeFileSync(path, response("http://town.example/", "2015-03-04T05:06:07Z", page));
  return path;
}
