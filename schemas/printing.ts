/** The printer actor: one on each node with the role `browser`. It makes a PDF of a page of the service itself. */
import { type Static, Type } from "typebox";
import { Bytes, call, contract } from "../cluster/contracts/contract.ts";

export const PrintReply = Type.Union([
  Type.Object({ kind: Type.Literal("printed"), pdf: Bytes() }),
  Type.Object({ kind: Type.Literal("failed"), detail: Type.String() }),
]);
export type PrintReply = Static<typeof PrintReply>;

/** `html`: a whole document without scripts and other files; a larger one is refused before it is sent. */
export const MAX_PRINT_CHARS = 500_000;
export const PRINTER = contract(
  "printer",
  {
    print: call(
      Type.Object({ html: Type.String({ maxLength: MAX_PRINT_CHARS }) }),
      PrintReply,
      // It asks its caller nothing.
      Type.Null(),
      Type.Null(),
    ),
  },
  {},
  { placement: { role: "printer" } },
);
