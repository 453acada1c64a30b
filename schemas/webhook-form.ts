/** In which form a webhook's events are written: of this API, or of Firecrawl's, version 2, with what only that form has. */
import { Type } from "typebox";
import { Field, Nullable } from "./common.ts";

const METADATA_NAMES = 50;

export const webhookForm = {
  form: Type.Optional(
    Field(
      Type.Enum(["trawl", "firecrawl"], { default: "trawl" }),
      "How events are written: `firecrawl` as Firecrawl's API, version 2, has them, signed in `X-Firecrawl-Signature`, too",
    ),
  ),
  metadata: Type.Optional(
    Field(
      Nullable(
        Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 1_000 }), {
          maxProperties: METADATA_NAMES,
        }),
      ),
      "Only with the form `firecrawl`: what each event gives back",
      { run: "monday" },
    ),
  ),
};
