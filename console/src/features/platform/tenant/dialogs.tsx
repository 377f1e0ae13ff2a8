import { lazy } from "react";
import type { Tenant } from "@/api/generated/types";
import { useTenantDialog } from "./actions";

const dialogs = {
  suspend: lazy(() => import("./suspend")),
  reactivate: lazy(() => import("./reactivate")),
  rename: lazy(() => import("./rename")),
  delete: lazy(() => import("./delete")),
};

/** Loaded when they are opened. */
export function TenantDialogs({ it }: { it: Tenant }) {
  const { open, show } = useTenantDialog();
  if (!open) return null;
  const Open = dialogs[open];
  return <Open it={it} onClose={() => show(undefined)} />;
}
