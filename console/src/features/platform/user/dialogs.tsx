import { lazy } from "react";
import type { User } from "@/api/generated/types";
import type { UserDialog } from "./dialog-names";

const RenameDialog = lazy(() => import("./rename"));
const PasswordDialog = lazy(() => import("./password"));
const ConfirmUserDialog = lazy(() => import("./confirm"));

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
