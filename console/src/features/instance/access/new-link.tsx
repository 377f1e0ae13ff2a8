import { call } from "@/api/client";
import { createShareLink } from "@/api/generated/operations";
import type { Instance, NewShareLink, ShareLink } from "@/api/generated/types";
import { shareLinks } from "@/api/instances/details";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";

const HOUR = 3_600_000;
const lengths = { hour: HOUR, day: 24 * HOUR, week: 168 * HOUR, month: 720 * HOUR } as const;
type Length = keyof typeof lengths;
const SERVICE = "service";

export default function NewLinkDialog({
  it,
  onClose,
  onMade,
}: {
  it: Instance;
  onClose: () => void;
  onMade: (link: ShareLink) => void;
}) {
  const { t } = useText();
  const make = useAct(
    (body: NewShareLink, key) => call(createShareLink, { path: { id: it.id }, body }, { key }),
    { touches: [shareLinks(it.id).queryKey], onDone: onMade },
  );
  const form = useForm({
    initial: { name: "", email: "", length: "day" as Length, port: SERVICE },
    check: ({ name, email }) => ({
      name: name.trim() ? undefined : t("instance.linkNameMissing"),
      email: email && !/^\S+@\S+$/.test(email.trim()) ? t("instance.emailWrong") : undefined,
    }),
    send: ({ name, email, length, port }) =>
      make.run({
        name: name.trim(),
        expires_at: new Date(Date.now() + lengths[length]).toISOString(),
        ...(email.trim() && { recipient: { email: email.trim() } }),
        ...(port !== SERVICE && { port: Number(port) }),
      }),
    error: make.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("instance.newLink")}
      description={t("instance.newLinkHint")}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={make.busy}>
            {t("instance.makeLink")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          label={t("instance.linkName")}
          hint={t("instance.linkNameHint")}
          autoComplete="off"
          {...form.text("name")}
        />
        <TextField
          label={t("instance.linkEmail")}
          hint={t("instance.linkEmailHint")}
          type="email"
          autoComplete="off"
          {...form.text("email")}
        />
        <SelectField
          label={t("instance.linkLength")}
          value={form.values.length}
          choices={(Object.keys(lengths) as Length[]).map((value) => ({
            value,
            label: t(`instance.length_${value}`),
          }))}
          onChange={(value) => form.set("length", value)}
        />
        {it.ports.length > 0 && (
          <SelectField
            label={t("instance.linkWhat")}
            value={form.values.port}
            choices={[
              { value: SERVICE, label: t("instance.linkService") },
              ...it.ports.map(({ port }) => ({
                value: String(port),
                label: t("instance.port", { port: String(port) }),
              })),
            ]}
            onChange={(value) => form.set("port", value)}
          />
        )}
      </div>
      {make.error != null && <ErrorLine error={make.error} className="mt-4" />}
    </Dialog>
  );
}
