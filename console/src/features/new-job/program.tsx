import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { FormEvent } from "react";
import type { NewJob } from "@/api/generated/types";
import { jobQuote, pools } from "@/api/jobs/queries";
import { useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useSubmit } from "@/domain/jobs/acts";
import { Fact, SubmitBar, Summary } from "@/domain/jobs/summary";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useSettled } from "@/lib/settled";
import { TextField } from "@/ui/field";
import { Empty, Panel, Section } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { TextArea } from "@/ui/text-area";

interface Values {
  pool: string;
  "parameters.command": string;
  "parameters.arguments": string;
  "parameters.max_seconds": string;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const wordsOf = (text: string) =>
  text
    .split("\n")
    .map((it) => it.trim())
    .filter(Boolean);

function bodyOf(values: Values): NewJob {
  const given = values["parameters.arguments"].trim();
  return {
    application: "command",
    method: "run",
    pool: values.pool,
    parameters: {
      command: wordsOf(values["parameters.command"]),
      ...(isJson(given) && { arguments: JSON.parse(given) as unknown }),
      max_seconds: Math.round(Number(values["parameters.max_seconds"]) * 60),
    },
  };
}

/** For experts: a program in the image of a dedicated pool. */
export default function ProgramForm() {
  const { t } = useText();
  const role = useWhyNot("jobs.write");
  const navigate = useNavigate();
  const usable = useLoaded(pools).filter((it) => it.applications.includes("command"));
  const first = usable[0];
  const submit = useSubmit((made) => void navigate({ to: "/jobs/$id", params: { id: made.id } }));
  const form = useForm<Values>({
    initial: {
      pool: first?.name ?? "",
      "parameters.command": "",
      "parameters.arguments": "",
      "parameters.max_seconds": "60",
    },
    check: (values) => {
      const minutes = Number(values["parameters.max_seconds"]);
      const given = values["parameters.arguments"].trim();
      return {
        "parameters.command":
          wordsOf(values["parameters.command"]).length === 0 ? t("newJob.commandMissing") : undefined,
        "parameters.arguments": given && !isJson(given) ? t("newJob.argumentsWrong") : undefined,
        "parameters.max_seconds": minutes >= 1 && minutes <= 10_080 ? undefined : t("newJob.secondsWrong"),
      };
    },
    send: (values) => submit.run(bodyOf(values)),
    error: submit.error,
  });
  const body = bodyOf(form.values);
  const quoted = useSettled({ ...body, parameters: { command: ["program"] } });
  const { data: quote, error } = useQuery({
    ...jobQuote(quoted),
    enabled: first !== undefined,
    placeholderData: keepPreviousData,
  });
  if (!first)
    return (
      <Panel>
        <Empty title={t("newJob.noProgramPool")}>{t("newJob.programHint")}</Empty>
      </Panel>
    );
  const pool = usable.find((it) => it.name === form.values.pool) ?? first;
  const sum = {
    body,
    quote: quote && { ...quote, costs: pool.dedicated ? [] : quote.costs },
    quoteError: error,
    reason: role,
    busy: submit.busy,
    refusal: submit.error,
    isAtField: Object.values(form.errors).some(Boolean),
    verb: t("newJob.run"),
    costNote: pool.dedicated ? t("newJob.ownWorkers") : undefined,
    children: (
      <Fact name={t("newJob.pool")}>
        {pool.name}
        <span className="block font-mono text-ink-3 text-xs">{pool.gpu_specs.join(", ")}</span>
      </Fact>
    ),
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!role && !submit.busy) form.submit();
  };
  return (
    <form
      noValidate
      onSubmit={send}
      className="grid grid-cols-[minmax(0,1fr)] items-start gap-8 max-lg:pb-20 lg:grid-cols-[minmax(0,1fr)_19rem]"
    >
      <div className="min-w-0">
        <Section title={t("newJob.program")}>
          <div className="max-w-[68ch] space-y-4">
            <SelectField
              label={t("newJob.image")}
              hint={t("newJob.imageHint")}
              value={form.values.pool}
              choices={usable.map((it) => ({
                value: it.name,
                label: it.name,
                hint: it.dedicated ? t("newJob.dedicated") : it.gpu_specs.join(", "),
              }))}
              onChange={(name) => form.set("pool", name)}
            />
            <TextArea
              mono
              name="parameters.command"
              label={t("newJob.command")}
              hint={t("newJob.commandHint")}
              placeholder={"python3\nupscale.py\n--scale\n4"}
              rows={4}
              spellCheck={false}
              value={form.values["parameters.command"]}
              error={form.errors["parameters.command"]}
              onChange={(event) => form.set("parameters.command", event.target.value)}
            />
            <TextArea
              mono
              name="parameters.arguments"
              label={t("newJob.arguments")}
              hint={t("newJob.argumentsHint")}
              placeholder={'{ "scale": 4 }'}
              rows={2}
              spellCheck={false}
              value={form.values["parameters.arguments"]}
              error={form.errors["parameters.arguments"]}
              onChange={(event) => form.set("parameters.arguments", event.target.value)}
            />
            <TextField
              {...form.text("parameters.max_seconds")}
              label={t("newJob.seconds")}
              hint={t("newJob.secondsHint")}
              inputMode="numeric"
              className="w-60"
              after={<span className="text-ink-3">{t("newJob.minutes")}</span>}
            />
          </div>
        </Section>
      </div>
      <Summary {...sum} />
      <SubmitBar {...sum} />
    </form>
  );
}
