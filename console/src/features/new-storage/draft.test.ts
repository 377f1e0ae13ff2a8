import { expect, test } from "vitest";
import type { Datacenter, Storage, StorageSpec } from "@/api/generated/types";
import type { Text } from "@/i18n";
import { emptyDraft, missingOf, orderOf } from "./draft";

const t = ((key: string) => key) as Text;
const spec = (name: string, more: Partial<StorageSpec> = {}) =>
  ({ name, kind: "volume", min_size_gib: 1, max_size_gib: 100, ...more }) as StorageSpec;
const place = (name: string, state: Datacenter["state"] = "active") => ({ name, state }) as Datacenter;
const known = {
  specs: [
    spec("archive", { kind: "bucket" }),
    spec("ssd"),
    spec("block", { min_size_gib: 64, max_size_gib: 64 }),
  ],
  datacenters: [place("uk-1"), place("de-2"), place("us-1", "draining")],
  storages: ["de-2", "us-1", "us-1"].map((datacenter) => ({ datacenter }) as Storage),
};
const quota = { limits: { gib: 100, storages: 5 }, used: { gib: 70, storages: 3 } };

test("begins with a volume where most storages are, if that takes new ones", () => {
  expect(emptyDraft(known, undefined)).toMatchObject({
    storage_spec: "ssd",
    size_gib: "40",
    datacenter: "de-2",
  });
  expect(emptyDraft(known, "block")).toMatchObject({ storage_spec: "block", size_gib: "64" });
});

test("a bucket is in no datacenter, and a fixed size is not asked for", () => {
  const draft = { ...emptyDraft(known, "archive"), name: " results " };
  expect(orderOf(draft, known.specs[0])).toEqual({ name: "results", storage_spec: "archive", size_gib: 40 });
  expect(orderOf({ ...draft, storage_spec: "block" }, known.specs[2])).toEqual({
    name: "results",
    storage_spec: "block",
    datacenter: "de-2",
  });
});

test("what is missing stands at its field, what the quota refuses too", () => {
  const draft = { ...emptyDraft(known, "ssd"), name: "models" };
  const at = (change: object, more = quota) =>
    Object.entries(missingOf({ ...draft, ...change }, { spec: known.specs[1], quota: more }, t)).filter(
      ([, text]) => text,
    );
  expect(at({ size_gib: "30" })).toEqual([]);
  expect(at({ name: " ", size_gib: "0" })).toEqual([
    ["name", "storages.nameMissing"],
    ["size_gib", "storages.sizeWrong"],
  ]);
  expect(at({ size_gib: "31" })).toEqual([["size_gib", "storages.quotaRoom"]]);
  expect(at({ size_gib: "1" }, { ...quota, used: { gib: 0, storages: 5 } })).toEqual([
    ["name", "storages.quotaFull"],
  ]);
});
