import type { Webhook } from "@/api/generated/types";
import type { Mark } from "@/ui/state";

export type Standing = "works" | "new" | "fails" | "off" | "failing" | "gone" | "maker";

/** How a webhook is, in one word. */
export function standingOf(it: Webhook): Standing {
  if (it.problem === "maker_ended") return "maker";
  if (it.problem) return it.problem;
  if (!it.enabled) return "off";
  if (it.failing_since) return "fails";
  return it.last_success_at ? "works" : "new";
}

export const marks: Record<Standing, Mark> = {
  works: "runs",
  new: "runs",
  fails: "failed",
  off: "rests",
  failing: "failed",
  gone: "failed",
  maker: "failed",
};

/** `hooks.example.com/atelier`: all are https. */
export const shortUrl = (url: string) => url.replace(/^https:\/\//, "").replace(/\/$/, "");
