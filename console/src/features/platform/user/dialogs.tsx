import { lazy } from "react";
import type { UserDialog } from "./dialog-names";
import type { UserDialogProps } from "./dialog-props";

const RenameDialog = lazy(() => import("./rename"));
const PasswordDialog = lazy(() => import("./password"));
const ConfirmUserDialog = lazy(() => import("./confirm"));

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
