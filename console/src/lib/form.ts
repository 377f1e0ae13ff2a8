import { type ChangeEvent, useEffect, useState } from "react";
import { ApiError } from "@/api/problem";

export type Errors<Values> = { [Name in keyof Values]?: string | undefined };

export interface Form<Values> {
  values: Values;
  set: <Name extends keyof Values>(name: Name, value: Values[Name]) => void;
  errors: Errors<Values>;
  /** Name, value, change and error of a text field. */
  text: (name: { [K in keyof Values]: Values[K] extends string ? K : never }[keyof Values] & string) => {
    name: string;
    value: string;
    error: string | undefined;
    onChange: (event: ChangeEvent<HTMLInputElement>) => void;
  };
  /** Sends if nothing is missing, else goes to the first field that is. */
  submit: () => void;
  reset: (values?: Values) => void;
}

/** The field with this name gets the focus, once it is in the page with its error. */
export function focusField(name: string) {
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`)?.focus();
  });
}

export function useForm<Values extends object>({
  initial,
  check,
  send,
  error,
}: {
  initial: Values;
  /** What is missing, before anything is sent. */
  check: (values: Values) => Errors<Values>;
  send: (values: Values) => void;
  /** The API's refusal: its fields stand at the fields of the same name. */
  error: unknown;
}): Form<Values> {
  const [values, setValues] = useState(initial);
  const [found, setFound] = useState<Errors<Values>>({});
  const refused = error instanceof ApiError ? (error.fields as Errors<Values>) : {};
  const errors = { ...refused, ...found };
  useEffect(() => {
    const first = error instanceof ApiError ? Object.keys(error.fields)[0] : undefined;
    if (first) focusField(first);
  }, [error]);
  const set = <Name extends keyof Values>(name: Name, value: Values[Name]) => {
    setValues((old) => ({ ...old, [name]: value }));
    setFound((old) => ({ ...old, [name]: undefined }));
  };
  return {
    values,
    set,
    errors,
    text: (name) => ({
      name,
      value: String(values[name]),
      error: errors[name],
      onChange: (event) => set(name, event.target.value as Values[typeof name]),
    }),
    submit: () => {
      const missing = Object.entries(check(values)).filter(([, text]) => text);
      setFound(Object.fromEntries(missing) as Errors<Values>);
      const first = missing[0]?.[0];
      if (first) focusField(first);
      else send(values);
    },
    reset: (next = initial) => {
      setValues(next);
      setFound({});
    },
  };
}
