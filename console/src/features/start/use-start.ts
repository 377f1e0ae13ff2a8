import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call } from "@/api/client";
import { createInstance } from "@/api/generated/operations";
import type { NewInstance, StorageSpec } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { instance } from "@/api/instances/queries";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { type Form, focusField, useForm } from "@/lib/form";
import { type Draft, missingOf } from "./order";

export type StartForm = Form<Draft> & {
  /** At a field of the order, by its path: `env.0.value` too. */
  error: (path: string) => string | undefined;
};

/** The value of the form that an error is about. */
function ownerOf(path: string): string {
  if (path === "new_storage") return "new_storage.name";
  return /^(env|secrets)\./.exec(path)?.[1] ?? path;
}

export interface Start {
  form: StartForm;
  busy: boolean;
  refusal: Error | null;
  /** Whether the refusal stands at a field already. */
  isAtField: boolean;
}

/** The form and its press. The same body is sent with the same key until its outcome is known. */
export function useStart(
  initial: Draft,
  specOf: (draft: Draft) => StorageSpec | undefined,
  bodyOf: (draft: Draft) => NewInstance,
): Start {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const order = useAct((body: NewInstance, key) => call(createInstance, { body }, { key }), {
    touches: [["storages"], ["quota"]],
    onDone: (made) => {
      client.setQueryData(instance(made.id).queryKey, made);
      putInstance(client, made);
      void navigate({ to: "/instances/$id", params: { id: made.id } });
    },
  });
  useEffect(() => {
    if (order.error instanceof ApiError && order.error.fields.new_storage) focusField("new_storage.name");
  }, [order.error]);
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  const form = useForm<Draft>({
    initial,
    check: (values) =>
      missingOf(values, specOf(values), (key) => (typeof key === "string" ? t(key) : t(key[0], key[1]))),
    send: (values) => {
      setChanged(new Set());
      order.run(bodyOf(values));
    },
    error: order.error,
  });
  const all = form.errors as Record<string, string | undefined>;
  // what was refused is not said of a value that was changed since
  const error = (path: string) => (changed.has(ownerOf(path)) ? undefined : all[path]);
  const shown = Object.entries(all).filter(([path, text]) => text && error(path));
  const set: Form<Draft>["set"] = (name, value) => {
    setChanged((old) => new Set(old).add(name));
    form.set(name, value);
  };
  return {
    form: {
      ...form,
      set,
      error,
      text: (name) => ({
        ...form.text(name),
        error: error(name),
        onChange: (event) => set(name, event.target.value as never),
      }),
      submit: () => {
        setChanged(new Set());
        form.submit();
      },
    },
    busy: order.busy,
    refusal: order.error,
    isAtField: shown.length > 0,
  };
}
