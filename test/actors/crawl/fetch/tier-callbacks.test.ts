/** How a tier asks its caller for permission: straight where both are in one process, by questions where they are not. */
import { expect, test } from "vitest";
import type { RoleRouter } from "../../../../cluster/internal/roles/role-router.ts";
import { page, tierWorld } from "../../../harness/tier-world.ts";

/** The router, and each question that a tier asks by a message is counted. */
const counting = ({
  call,
}: RoleRouter): { readonly router: Pick<RoleRouter, "call">; readonly asked: string[] } => {
  const asked: string[] = [];
  const router: Pick<RoleRouter, "call"> = {
    call: (of, operation, message, options) =>
      call(of, operation, message, {
        ...options,
        open() {
          const session = options.open();
          const answer: typeof session.answer = (question) => {
            asked.push((question as { readonly do: string }).do);
            return session.answer(question);
          };
          return { ...session, answer };
        },
      }),
  };
  return { router, asked };
};

test("a tier of the caller's process calls it back without a question", async () => {
  const world = tierWorld();
  const { router, asked } = counting(world.alone(world.tier("direct", async () => page("here"))));
  expect(await world.until(world.take(router, "direct"))).toMatchObject({ kind: "page", status: 200 });
  expect(world.released).toEqual([{ status: 200, retry_after_s: null }]);
  expect(asked).toEqual([]);
});

test("a tier of another node asks, and the permit is released with the same answer", async () => {
  const world = tierWorld();
  await world.node(world.tier("direct", async () => page("there")));
  const { router, asked } = counting(await world.node());
  expect(await world.until(world.take(router, "direct"))).toMatchObject({ kind: "page", status: 200 });
  expect(world.released).toEqual([{ status: 200, retry_after_s: null }]);
  expect(new Set(asked)).toEqual(new Set(["admit", "before_send", "sent", "release"]));
});
