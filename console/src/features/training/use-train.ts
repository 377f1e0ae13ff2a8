import { useNavigate } from "@tanstack/react-router";
import type { UploadId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useSubmit } from "@/domain/jobs/acts";
import type { Uploads } from "@/domain/uploads/use-uploads";
import { useText } from "@/i18n";
import { type Errors, type Form, useForm } from "@/lib/form";
import { type Draft, missingOf, orderOf } from "./order";

export type TrainForm = Form<Draft>;

export const readyOf = ({ pictures }: Uploads): UploadId[] =>
  pictures.flatMap((it) => (it.state === "ready" && it.upload ? [it.upload] : []));

/** The form and its press. A refusal is forgotten as soon as something is changed. */
export function useTrain(initial: Draft, uploads: Uploads, currency: string) {
  const { t } = useText();
  const navigate = useNavigate();
  const images = readyOf(uploads);
  const train = useSubmit(
    ({ id }) => void navigate({ to: "/training/$id", params: { id } }),
    (error) => {
      const inputs = error instanceof ApiError && error.is("input-missing") && error.problem.inputs;
      if (Array.isArray(inputs)) uploads.lose(inputs.map(String));
    },
  );
  const form = useForm<Draft>({
    initial,
    check: (draft) => {
      const errors: Errors<Draft> = {};
      for (const [name, key] of Object.entries(missingOf(draft, images.length)))
        errors[name as keyof Draft] = t(key);
      return errors;
    },
    send: (draft) => train.run(orderOf(draft, images, currency)),
    error: train.error,
  });
  const set: TrainForm["set"] = (name, value) => {
    if (train.error) train.reset();
    form.set(name, value);
  };
  return {
    form: {
      ...form,
      set,
      text: (name) => ({
        ...form.text(name),
        onChange: (event) => set(name, event.target.value as never),
      }),
    } satisfies TrainForm,
    images,
    busy: train.busy,
    refusal: train.error,
    isAtField: Object.values(form.errors).some(Boolean),
  };
}
