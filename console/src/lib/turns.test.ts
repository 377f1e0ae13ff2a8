import { expect, test } from "vitest";
import { inTurn } from "./turns";

test("four at a time, and a failure gives its place to the next", async () => {
  let now = 0;
  let most = 0;
  const work = (i: number) =>
    inTurn(async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve));
      now--;
      if (i % 3 === 0) throw new Error("no answer");
      return i;
    }).catch(() => -1);
  const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => work(i)));
  expect(most).toBe(4);
  expect(answers).toEqual([-1, 1, 2, -1, 4, 5, -1, 7, 8, -1]);
});
