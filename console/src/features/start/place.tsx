import type { Datacenter, Storage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { filesOf } from "./order";
import type { Offer } from "./rules";
import type { StartForm } from "./use-start";

export function PlaceFields({
  form,
  datacenters,
  offer,
  auto,
  storage,
  storages,
}: {
  form: StartForm;
  datacenters: readonly Datacenter[];
  offer: Offer | undefined;
  /** Default datacenter. */
  auto: string | null;
  /** The one that it is bound to. */
  storage: Storage | undefined;
  storages: readonly Storage[];
}) {
  const { t } = useText();
  const words = { many: t("ui.many"), few: t("ui.few"), none: t("ui.none") };
  const rooms = offer?.rooms ?? [];
  const region = (name: string) => datacenters.find((it) => it.name === name)?.region ?? "";
  const names = offer ? rooms.map((it) => it.datacenter) : datacenters.map((it) => it.name);
  const label = (name: string) => {
    const room = rooms.find((it) => it.datacenter === name);
    return room
      ? t("start.placeRoom", { place: name, region: region(name), room: words[room.level] })
      : t("start.placeOnly", { place: name, region: region(name) });
  };
  const bound = storage?.datacenter;
  // until it is edited, the name of the new storage follows that of the instance
  const onName = (name: string) => {
    const { values } = form;
    if (name.trim() && values["new_storage.name"] === filesOf(values.name.trim(), storages))
      form.set("new_storage.name", filesOf(name.trim(), storages));
    form.set("name", name);
  };
  return (
    <div className="grid items-start gap-x-4 gap-y-3 sm:grid-cols-2">
      <TextField
        {...form.text("name")}
        onChange={(event) => onName(event.target.value)}
        label={t("start.name")}
        hint={t("start.nameHint")}
        autoComplete="off"
        maxLength={80}
      />
      {bound ? (
        <SelectField
          label={t("start.datacenter")}
          value={bound}
          onChange={() => undefined}
          hint={t("start.boundHint", { storage: storage.name })}
          error={form.error("datacenter")}
          choices={[{ value: bound, label: label(bound) }]}
        />
      ) : (
        <SelectField
          label={t("start.datacenter")}
          value={form.values.datacenter || "auto"}
          onChange={(value) => form.set("datacenter", value === "auto" ? "" : value)}
          error={form.error("datacenter")}
          hint={form.values.storage === "new" ? t("start.placeStorageHint") : undefined}
          choices={[
            {
              value: "auto",
              label: auto ? t("start.autoPlace", { place: auto }) : t("start.autoPlaceOpen"),
              hint: t("start.autoPlaceHint"),
            },
            ...names.map((name) => ({ value: name, label: label(name) })),
          ]}
        />
      )}
    </div>
  );
}
