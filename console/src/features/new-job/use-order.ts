import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { NewJob } from "@/api/generated/types";
import { job } from "@/api/jobs/queries";
import { ApiError } from "@/api/problem";
import { useSubmit } from "@/domain/jobs/acts";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { type Draft, mistakesOf } from "./order";

type Text = { [Name in keyof Draft]: Draft[Name] extends string ? Name : never }[keyof Draft];

/** The form and its press. What was refused is not said of a value that was changed since. */
export function useOrder(initial: Draft, hasImage: boolean, bodyOf: (draft: Draft) => NewJob) {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const submit = useSubmit((made) => {
    client.setQueryData(job(made.id).queryKey, made);
    void navigate({ to: "/jobs/$id", params: { id: made.id } });
  });
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set());
  const form = useForm<Draft>({
    initial,
    check: (values) =>
      Object.fromEntries(Object.entries(mistakesOf(values, hasImage)).map(([name, key]) => [name, t(key)])),
    send: (values) => {
      setChanged(new Set());
      submit.run(bodyOf(values));
    },
    error: submit.error,
  });
  const errors = form.errors as Record<string, string | undefined>;
  const error = (name: keyof Draft) => (changed.has(name) ? undefined : errors[name]);
  const set = <Name extends keyof Draft>(name: Name, value: Draft[Name]) => {
    setChanged((old) => new Set(old).add(name));
    form.set(name, value);
  };
  return {
    values: form.values,
    set,
    error,
    text: (name: Text & keyof Draft) => ({
      name,
      value: String(form.values[name]),
      error: error(name),
      onChange: ({ target }: { target: { value: string } }) => set(name, target.value as Draft[typeof name]),
    }),
    submit: () => {
      setChanged(new Set());
      form.submit();
    },
    busy: submit.busy,
    refusal: submit.error,
    isAtField:
      submit.error instanceof ApiError &&
      Object.keys(submit.error.fields).some((name) => name in form.values || name === "parameters.models"),
  };
}

export type OrderForm = ReturnType<typeof useOrder>;
