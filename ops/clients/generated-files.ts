/** The files of the clients that are made of the API document, by their paths in the repository. */
import type { ApiDocument } from "./api-model.ts";
import { typescriptTypes } from "./typescript-types.ts";

export const generatedFiles = (
  document: ApiDocument,
): readonly (readonly [path: string, content: string])[] => [
  ["clients/typescript/src/generated/api.ts", typescriptTypes(document)],
];
