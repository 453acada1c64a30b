/**
 * The admission of a request whose body may be large or is compressed: its memory is its project's, from its first byte to its
 * answer.
 */
import type { ByteBudget } from "../cluster/byte-budget.ts";
import { type BodyRoom, bodyRoom, UNCOUNTED_BYTES } from "./body-room.ts";
import type { RequestContext } from "./compiled-route.ts";
import { decoded, type RequestCoding } from "./content-coding.ts";
import type { Admitted, Body, Reply } from "./http.ts";
import type { Route } from "./route.ts";

/** The bytes, their text, and the values that are parsed from it. */
const PARSED_COPIES = 3;
/** Items of JSON are found in the bytes and parsed one after the other. */
const copiesOf = ({ raw, body_content }: Route): number => (raw && !body_content ? 1 : PARSED_COPIES);
/** All callers whose keys are looked up. No project has this name. */
const UNKNOWN = "";

export interface LargeBodies {
  readonly admit: (
    context: RequestContext,
    project: string,
    coding: RequestCoding | null,
    answer: (body: Body) => Reply | Promise<Reply>,
  ) => Admitted;
  /** For what arrives while a key is looked up. */
  readonly beforeAdmission: () => BodyRoom;
}

/** Default of `memory`: there is room for all. */
export function largeBodies(memory: Pick<ByteBudget, "requests"> | undefined): LargeBodies {
  async function settled(
    route: Route,
    room: BodyRoom,
    coding: RequestCoding | null,
    sent: Body,
  ): Promise<Body> {
    room.settle();
    if (sent.kind !== "whole") return sent;
    const sent_bytes = coding === null ? 0 : sent.bytes.length;
    const hasRoom = (bytes: number): boolean => room.hasRoom(sent_bytes + bytes);
    const body = coding === null ? sent : await decoded(sent.bytes, coding, route.limit_bytes, hasRoom);
    if (body.kind !== "whole") return body;
    return hasRoom(copiesOf(route) * body.bytes.length) ? body : { kind: "no_room" };
  }

  return {
    beforeAdmission: () => bodyRoom(memory?.requests, UNKNOWN),
    admit({ compiled, head, abort }, project, coding, answer) {
      const route = compiled.route!;
      const { limit_bytes } = route;
      const isChunked = head.headers.has("transfer-encoding");
      const bytes = isChunked ? Infinity : Number(head.headers.get("content-length") ?? 0);
      if (bytes === 0 || (bytes <= UNCOUNTED_BYTES && coding === null)) return { limit_bytes, answer };
      const room = bodyRoom(memory?.requests, project);
      abort.signal.addEventListener("abort", room.release);
      return {
        limit_bytes,
        hasRoom: room.hasRoom,
        async answer(body) {
          try {
            return await answer(await settled(route, room, coding, body));
          } finally {
            room.release();
          }
        },
      };
    },
  };
}
