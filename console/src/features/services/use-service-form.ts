import { useEffect, useState } from "react";
import type { ServiceImage, ServiceTemplate } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useText } from "@/i18n";
import { focusField } from "@/lib/form";
import { type About, aboutOf, checkAbout } from "./about";
import { checkTemplate, type Fault } from "./check";
import { parseTemplate } from "./json";
import { asText, draftOf, emptyTemplate, normal, type TemplateDraft, templateOf } from "./template";

/** The name of a form's field for a pointer into the body. */
export const fieldName = (pointer: string) => pointer.slice(1).replaceAll("/", ".");

/** The template is edited in fields or as text: both are the same template, and neither loses what is typed in it. */
export function useServiceForm(like: ServiceImage | undefined, error: unknown, isNew: boolean) {
  const { t } = useText();
  const [about, setAbout] = useState<About>(() => ({ ...aboutOf(like), isNew }));
  const [draft, setDraft] = useState<TemplateDraft>(() => draftOf(like?.template ?? emptyTemplate));
  /** As typed; null while it is what the fields say. */
  const [text, setText] = useState<string | null>(null);
  const [isAsked, setAsked] = useState(false);
  /** Faults that the service named, until what they are about is changed. */
  const [refused, setRefused] = useState<{ error: unknown; faults: Fault[] }>({ error: null, faults: [] });
  if (error !== refused.error) {
    const errors = error instanceof ApiError ? (error.problem.errors ?? []) : [];
    setRefused({ error, faults: errors });
  }
  const parsed = text === null ? null : parseTemplate(text, t);
  const template: ServiceTemplate | null = parsed ? parsed.template : templateOf(draft);
  const own = [...checkAbout(about, t), ...(template ? checkTemplate(template, t) : (parsed?.faults ?? []))];
  const isTyping = text !== null;
  const faults = [...(isAsked || isTyping ? own : []), ...refused.faults];
  useEffect(() => {
    const first = error instanceof ApiError ? error.problem.errors?.[0]?.pointer : undefined;
    if (first) focusField(fieldName(first));
  }, [error]);
  const forget = (isAbout: (pointer: string) => boolean) =>
    setRefused((old) => ({ ...old, faults: old.faults.filter((it) => !isAbout(it.pointer)) }));
  return {
    about,
    draft,
    template,
    faults,
    /** What the text area shows. */
    text: text ?? asText(normal(templateOf(draft))),
    isText: parsed !== null && parsed.template === null,
    change: (more: Partial<About>) => {
      setAbout({ ...about, ...more });
      forget((pointer) => Object.keys(more).some((name) => pointer.startsWith(`/${name}`)));
    },
    setDraft: (more: Partial<TemplateDraft>) => {
      setDraft({ ...draft, ...more });
      setText(null);
      forget((pointer) => Object.keys(more).some((name) => pointer.startsWith(`/template/${name}`)));
    },
    setText: (next: string) => {
      setText(next);
      const { template: read } = parseTemplate(next, t);
      if (read) setDraft(draftOf(read));
      forget((pointer) => pointer.startsWith("/template"));
    },
    /** The text is put in order when one goes back to the fields. */
    leaveText: () => {
      if (template) setText(null);
    },
    error: (name: string) => faults.find((it) => fieldName(it.pointer) === name)?.detail,
    /** As it was saved. */
    reset: (saved: ServiceImage) => {
      setAbout({ ...aboutOf(saved), isNew });
      setDraft(draftOf(saved.template));
      setText(null);
      setAsked(false);
    },
    /** Whether it can be sent; else the first fault gets the focus. */
    isReady: () => {
      setAsked(true);
      const [first] = own;
      if (first) focusField(fieldName(first.pointer));
      return !first && template !== null;
    },
  };
}

export type ServiceForm = ReturnType<typeof useServiceForm>;
