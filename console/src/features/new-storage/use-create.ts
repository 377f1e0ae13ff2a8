import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { call } from "@/api/client";
import { createStorage } from "@/api/generated/operations";
import type { NewStorage, StorageQuota, StorageSpec } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { keys } from "@/api/storages/cache";
import { storage } from "@/api/storages/queries";
import { sizeRefusal } from "@/domain/storages/quota";
import { useText } from "@/i18n";
import { type Form, focusField, useForm } from "@/lib/form";
import { type Draft, missingOf, orderOf } from "./draft";

export interface Create {
  form: Form<Draft>;
  body: NewStorage;
  busy: boolean;
  /** The refusal that stands at no field. */
  refusal: Error | null;
}

/** The form and its press. A refusal stands at its field, and nothing that was entered is lost. */
export function useCreate(
  initial: Draft,
  specOf: (draft: Draft) => StorageSpec | undefined,
  quota: StorageQuota,
): Create {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const order = useAct((body: NewStorage, key) => call(createStorage, { body }, { key }), {
    touches: [keys.lists, keys.quota],
    onDone: (made) => {
      client.setQueryData(storage(made.id).queryKey, made);
      void navigate({ to: "/storages/$id", params: { id: made.id } });
    },
    onFailed: () => void client.invalidateQueries({ queryKey: keys.quota }),
  });
  const form = useForm<Draft>({
    initial,
    check: (draft) => missingOf(draft, { spec: specOf(draft), quota }, t),
    send: (draft) => order.run(orderOf(draft, specOf(draft))),
    error: order.error,
  });
  const size = sizeRefusal(order.error, t);
  const isTaken = order.error instanceof ApiError && order.error.is("name-taken");
  useEffect(() => {
    if (size || isTaken) focusField(size ? "size_gib" : "name");
  }, [size, isTaken]);
  const errors = {
    ...form.errors,
    name: form.errors.name ?? (isTaken ? t("problems.name-taken") : undefined),
    size_gib: form.errors.size_gib ?? size,
  };
  // what was refused is not said of a value that was changed since
  const set: Form<Draft>["set"] = (name, value) => {
    order.reset();
    form.set(name, value);
  };
  return {
    form: {
      ...form,
      errors,
      set,
      text: (name) => ({
        ...form.text(name),
        error: errors[name],
        onChange: (event) => set(name, event.target.value),
      }),
    },
    body: orderOf(form.values, specOf(form.values)),
    busy: order.busy,
    refusal: Object.values(errors).some(Boolean) ? null : order.error,
  };
}
