import { expect, test } from "vitest";
import type { Storage } from "@/api/generated/types";
import { isMountable } from "./mountable";
import { isMoving, standingOf } from "./standing";

const make = (state: Storage["state"], more: Partial<Storage> = {}) =>
  ({ kind: "volume", state, reason: null, message: null, ...more }) as Storage;

const stands = (it: Storage) => {
  const { mark, word } = standingOf(it);
  return `${mark} ${word.split(".")[1]}`;
};

test("each state has a mark and a word", () => {
  expect(stands(make("pending", { reason: "volume_requested" }))).toBe("moves creating");
  expect(stands(make("available"))).toBe("runs ready");
  expect(stands(make("resizing"))).toBe("moves growing");
  expect(stands(make("failed", { reason: "volume_lost" }))).toBe("failed failed");
  expect(stands(make("deleting"))).toBe("moves deleting");
});

test("a volume that is provisioned by its first use is at rest, and can be mounted", () => {
  const accepted = make("pending", { reason: "volume_accepted" });
  expect(stands(accepted)).toBe("rests readyOnUse");
  expect(isMoving(accepted)).toBe(false);
  expect(isMountable(accepted)).toBe(true);
  expect(isMoving(make("pending", { reason: "volume_pending" }))).toBe(true);
});

test("only volumes that are there can be mounted", () => {
  expect(isMountable(make("available"))).toBe(true);
  expect(isMountable(make("resizing"))).toBe(true);
  expect(isMountable(make("available", { kind: "bucket" }))).toBe(false);
  expect(isMountable(make("failed"))).toBe(false);
  expect(isMountable(make("pending"))).toBe(false);
});
