import { call } from "@/api/client";
import { updateUser } from "@/api/generated/operations";
import type { User, UserChange } from "@/api/generated/types";
import { useAct } from "@/api/query";

/** Sends a change of the version that is shown. */
export const useUserChange = (it: User, onDone: (changed: User) => void) =>
  useAct((body: UserChange, key) => call(updateUser, { path: { id: it.id }, body }, { key }), {
    touches: [["platform", "users"]],
    onDone,
  });
