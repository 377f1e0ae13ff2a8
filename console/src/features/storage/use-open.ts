import { useNavigate } from "@tanstack/react-router";
import type { StorageAction } from "@/domain/storages/acts";

/** Opens the dialog of an action, or closes it: it is in the address. */
export function useOpen(): (open: StorageAction | undefined) => void {
  const navigate = useNavigate({ from: "/storages/$id" });
  return (open) => void navigate({ to: ".", search: (old) => ({ ...old, open }), replace: true });
}
