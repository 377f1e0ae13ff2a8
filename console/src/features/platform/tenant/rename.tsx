import type { Tenant } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { changeCurl, useTenantChange } from "./change";

export default function RenameDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const change = useTenantChange(it, onClose);
  const form = useForm({
    initial: { name: it.name },
    check: ({ name }) => ({ name: name.trim() ? undefined : t("tenants.nameMissing") }),
    send: ({ name }) => change.run({ name: name.trim() }),
    error: change.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("tenants.renameTitle", { name: it.name })}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={changeCurl(it, { name: form.values.name.trim() })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={change.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("name")}
          label={t("tenants.name")}
          hint={t("tenants.renameHint")}
          autoComplete="off"
        />
        {change.error && !form.errors.name && <ErrorLine error={change.error} />}
      </div>
    </Dialog>
  );
}
