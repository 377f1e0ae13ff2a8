import type { Datacenter, StockRow } from "@/api/generated/types";
import { useText } from "@/i18n";
import { SelectField } from "@/ui/select";
import { placesOf } from "./draft";

/** Where a volume is made: instances that mount it run there, so what has room there stands beside it. */
export function PlaceField({
  datacenters,
  stock,
  value,
  error,
  onChange,
}: {
  datacenters: readonly Datacenter[];
  stock: readonly StockRow[];
  value: string;
  error: string | undefined;
  onChange: (name: string) => void;
}) {
  const { t } = useText();
  const roomIn = (name: string) => {
    const rows = stock.filter((row) => row.datacenter.name === name);
    const count = rows.filter((row) => row.available > 0).length;
    return count > 0 ? t("storages.placeRoom", { count, all: rows.length }) : t("storages.placeNoRoom");
  };
  return (
    <SelectField
      label={t("storages.place")}
      value={value}
      onChange={onChange}
      error={error}
      hint={value ? `${roomIn(value)}.` : undefined}
      choices={placesOf(datacenters).map(({ name, region }) => ({
        value: name,
        label: t("storages.placeOf", { place: name, region }),
        hint: roomIn(name),
      }))}
    />
  );
}
