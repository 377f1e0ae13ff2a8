import type { Me } from "@/api/generated/types";
import { readSetting, writeSetting } from "@/lib/setting";

/** What somebody who is signed in acts for: it says what may be read at all. */
type Caller = "tenant" | "platform";
const SETTING = "caller";

/** As it was on the last page of this browser; null if nobody was signed in, or may read nothing. */
export function lastCaller(): Caller | null {
  const kept = readSetting(SETTING);
  return kept === "tenant" || kept === "platform" ? kept : null;
}

export function keepCaller(me: Me | null) {
  const caller: Caller | null = me?.tenant_id ? "tenant" : me?.user.admin ? "platform" : null;
  if (caller !== lastCaller()) writeSetting(SETTING, caller ?? "");
}
