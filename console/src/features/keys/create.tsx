import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createApiKey } from "@/api/generated/operations";
import type { ApiKey, NewApiKey } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { keys } from "./queries";
import { RightsGrid } from "./rights";
import { noRights, presets, type Rights, scopesOf } from "./scopes";

const DAY = 86_400_000;
type Expiry = "30" | "90" | "365" | "never";
type Preset = "read" | "work" | "own";

interface Values {
  name: string;
  preset: Preset;
  rights: Rights;
  expiry: Expiry;
  limit: string;
}

const initial: Values = { name: "", preset: "read", rights: noRights, expiry: "90", limit: "" };

const bodyOf = ({ name, preset, rights, expiry, limit }: Values): NewApiKey => ({
  name: name.trim(),
  scopes: preset === "own" ? scopesOf(rights) : presets[preset],
  ...(expiry !== "never" && { expires_at: new Date(Date.now() + Number(expiry) * DAY).toISOString() }),
  ...(limit.trim() && { requests_per_second: Number(limit) }),
});

interface Props {
  open: boolean;
  onClose: () => void;
  onDone: (key: ApiKey) => void;
}

export function CreateKeyDialog(props: Props) {
  // a new dialog each time: nothing of the last one stays in it
  const [times, setTimes] = useState(0);
  const again = () => setTimes(times + 1);
  return (
    <Form
      key={times}
      open={props.open}
      onClose={() => {
        again();
        props.onClose();
      }}
      onDone={(key) => {
        again();
        props.onDone(key);
      }}
    />
  );
}

function Form({ open, onClose, onDone }: Props) {
  const { t } = useText();
  const create = useAct((body: NewApiKey, key) => call(createApiKey, { body }, { key }), {
    touches: [keys.queryKey],
    onDone,
  });
  const form = useForm({
    initial,
    check: (values) => ({
      name: values.name.trim() ? undefined : t("keys.nameMissing"),
      rights: bodyOf(values).scopes.length > 0 ? undefined : t("keys.scopeMissing"),
      limit: isLimit(values.limit) ? undefined : t("keys.limitWrong"),
    }),
    send: (values) => create.run(bodyOf(values)),
    error: create.error,
  });
  const { preset, rights, expiry } = form.values;
  const hints = {
    read: t("keys.presetReadHint"),
    work: t("keys.presetWorkHint"),
    own: t("keys.presetOwnHint"),
  };
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={t("keys.create")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createApiKey, { body: bodyOf(form.values) })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("keys.submit")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("name")}
          label={t("keys.name")}
          hint={t("keys.nameHint")}
          autoComplete="off"
        />
        <SelectField
          label={t("keys.preset")}
          hint={hints[preset]}
          value={preset}
          onChange={(next) => form.set("preset", next)}
          choices={[
            { value: "read", label: t("keys.presetRead"), hint: hints.read },
            { value: "work", label: t("keys.presetWork"), hint: hints.work },
            { value: "own", label: t("keys.presetOwn"), hint: hints.own },
          ]}
        />
        {preset === "own" && (
          <RightsGrid
            value={rights}
            onChange={(next) => form.set("rights", next)}
            error={form.errors.rights}
          />
        )}
        <div className="grid grid-cols-2 gap-4">
          <SelectField
            label={t("keys.expiry")}
            value={expiry}
            onChange={(next) => form.set("expiry", next)}
            choices={[
              { value: "30", label: t("keys.expiry30") },
              { value: "90", label: t("keys.expiry90") },
              { value: "365", label: t("keys.expiry365") },
              { value: "never", label: t("keys.expiryNever") },
            ]}
          />
          <TextField
            {...form.text("limit")}
            label={t("keys.limit")}
            hint={t("keys.limitHint")}
            inputMode="numeric"
          />
        </div>
        {create.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={create.error} />}
      </div>
    </Dialog>
  );
}

const isLimit = (text: string) =>
  text.trim() === "" || (/^\d+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= 10_000);
