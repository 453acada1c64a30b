/** The session of the console (gateway/console-sessions.ts). Its page and its scripts are pages.ts. */
import { Type } from "typebox";
import type { Clock } from "../../cluster/ports/clock.ts";
import { keyIn } from "../authenticate.ts";
import type { ConsoleSessions } from "../console-sessions.ts";
import type { Reply } from "../http.ts";
import { NO_SIGN_IN_LINK } from "../http-errors.ts";
import { openRoute, type Route, route } from "../route.ts";
import type { SignInLinks } from "../sign-in-links.ts";
import { isOfThisMachine } from "./status.ts";

const PATH = "/console/session";
const NOTHING = { description: "The cookie is set or removed" };

const LINK_FIELD = "x-trawl-sign-in";
const answer = (cookie: string): Reply => ({
  status: 204,
  headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" },
});

export const consoleRoutes = (
  { cookieOf, noCookie }: ConsoleSessions,
  clock: Pick<Clock, "now">,
  { take }: Pick<SignInLinks, "take">,
): readonly Route[] => [
  route({
    method: "POST",
    path: PATH,
    operationId: "openConsoleSession",
    summary: "Stays signed in to the console with the key of the request, for 12 hours",
    description:
      "The cookie holds the key, sealed by the service, and cannot be read by scripts. It is taken below /console/api only. A key that is revoked ends it.",
    tags: ["about"],
    audience: "people",
    replies: { 204: NOTHING },
    handle: ({ head }) => answer(cookieOf(keyIn(head.headers.get("authorization")!)!, clock.now())),
  }),
  openRoute({
    method: "POST",
    path: "/console/sign-in",
    operationId: "signInByLink",
    summary: "Signs in to the console with the one-time link that the service printed on its terminal",
    description:
      "Of this machine only, once, within ten minutes of the start. The secret of the link is the field X-Trawl-Sign-In.",
    tags: ["about"],
    audience: "people",
    replies: {
      204: NOTHING,
      404: {
        description: "The link has been used, is over, or the request is not of this machine",
        schema: Type.Object({ detail: Type.String() }),
      },
    },
    handle: ({ head }) => {
      const key = isOfThisMachine(head) ? take(head.headers.get(LINK_FIELD) ?? "") : null;
      return key === null ? NO_SIGN_IN_LINK : answer(cookieOf(key, clock.now()));
    },
  }),
  openRoute({
    method: "DELETE",
    path: PATH,
    operationId: "closeConsoleSession",
    summary: "Forgets the key that the console stays signed in with",
    tags: ["about"],
    audience: "people",
    replies: { 204: NOTHING },
    handle: () => answer(noCookie),
  }),
];
