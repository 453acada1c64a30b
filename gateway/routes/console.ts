/** The session of the console (gateway/console-sessions.ts). Its page and its scripts are pages.ts. */
import type { Clock } from "../../cluster/ports/clock.ts";
import { keyIn } from "../authenticate.ts";
import type { ConsoleSessions } from "../console-sessions.ts";
import type { Reply } from "../http.ts";
import { openRoute, type Route, route } from "../route.ts";

const PATH = "/console/session";
const NOTHING = { description: "The cookie is set or removed" };

const answer = (cookie: string): Reply => ({
  status: 204,
  headers: { "Set-Cookie": cookie, "Cache-Control": "no-store" },
});

export const consoleRoutes = (
  { cookieOf, noCookie }: ConsoleSessions,
  clock: Pick<Clock, "now">,
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
