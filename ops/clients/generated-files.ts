/** The files of the clients that are made of the API document, or of other files, by their paths in the repository. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ApiDocument } from "./api-model.ts";
import { pythonSync } from "./python-sync.ts";
import { pythonModels, pythonParams } from "./python-types.ts";
import { typescriptTypes } from "./typescript-types.ts";

const PYTHON = "clients/python/src/trawl_client";

/** `root`: a checkout. */
export const generatedFiles = (
  document: ApiDocument,
  root: string,
): readonly (readonly [path: string, content: string])[] => [
  ["clients/typescript/src/generated/api.ts", typescriptTypes(document)],
  [`${PYTHON}/models.py`, pythonModels(document)],
  [`${PYTHON}/params.py`, pythonParams(document)],
  [`${PYTHON}/_sync.py`, pythonSync(readFileSync(join(root, PYTHON, "_async.py"), "utf8"))],
];
