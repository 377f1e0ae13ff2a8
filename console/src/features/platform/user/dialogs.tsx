import { lazy } from "react";
import type { User } from "@/api/generated/types";

const RenameDialog = lazy(() => import("./rename"));
const PasswordDialog = lazy(() => import("./password"));
const ConfirmUserDialog = lazy(() => import("./confirm"));

export const confirmed = ["disable", "enable", "admin", "totp", "passkeys", "delete"] as const;
export type Confirmed = (typeof confirmed)[number];
export const userDialogs = [...confirmed, "rename", "password"] as const;
export type UserDialog = (typeof userDialogs)[number];

export interface UserDialogProps {
  it: User;
  onClose: () => void;
}

/** Loaded when they are opened. */
export function UserDialogs({
  open,
  owned,
  ...rest
}: UserDialogProps & {
  open: UserDialog;
  /** Names of the tenants that the user owns. */
  owned: readonly string[];
}) {
  if (open === "rename") return <RenameDialog {...rest} />;
  if (open === "password") return <PasswordDialog {...rest} />;
  return <ConfirmUserDialog {...rest} act={open} owned={owned} />;
}
