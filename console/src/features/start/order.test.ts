import { expect, test } from "vitest";
import type { Instance, ServiceImage, Storage, StorageSpec } from "@/api/generated/types";
import {
  type Draft,
  draftLike,
  emptyDraft,
  freeName,
  type Known,
  missingOf,
  orderOf,
  quotedPart,
  withoutSecrets,
} from "./order";

const image = (service: string, version: string, more: Partial<ServiceImage> = {}) =>
  ({ service, version, enabled: true, deprecated: false, recommended: false, ...more }) as ServiceImage;

const known: Known = {
  services: [
    image("comfyui", "0.4", { recommended: true }),
    image("stable-diffusion-webui", "1.5", { deprecated: true }),
    image("stable-diffusion-webui", "1.6"),
    image("stable-diffusion-webui", "1.10", { recommended: true }),
  ],
  storages: [
    { id: "stor_1", name: "act-files", kind: "volume", state: "available", datacenter: "uk-1" },
    { id: "stor_2", name: "webui-2-files", kind: "volume", state: "deleting", datacenter: "uk-1" },
  ] as unknown as Storage[],
  storageSpecs: [{ name: "ssd", kind: "volume", min_size_gib: 1, max_size_gib: 100 }] as StorageSpec[],
  instances: [{ name: "webui-1" }, { name: "act-2" }] as Instance[],
};

const draft = (more: Partial<Draft> = {}): Draft => ({ ...emptyDraft(known), gpu_spec: "4090", ...more });

test("the first draft: the recommended version, names that nobody has", () => {
  expect(emptyDraft(known)).toMatchObject({
    service: "stable-diffusion-webui",
    version: "1.10",
    name: "webui-2",
    "new_storage.name": "webui-2-files-1",
    "new_storage.storage_spec": "ssd",
  });
  expect(freeName("act-2", ["act-1", "act-2"])).toBe("act-3");
});

test("as last time: under a new name, on its storage; a version that is gone becomes the recommended one", () => {
  const last = {
    name: "act-2",
    service: "stable-diffusion-webui",
    version: "1.5",
    gpu_spec: { id: "x", name: "3080" },
    storage_id: "stor_1",
    datacenter: "uk-1",
    idle_stop: { after_seconds: 3600 },
    on_node_loss: "stop",
  } as unknown as Instance;
  expect(draftLike(last, known)).toMatchObject({
    name: "act-1",
    version: "1.10",
    gpu_spec: "3080",
    storage: "existing",
    storage_id: "stor_1",
    datacenter: "",
    idle: true,
    "idle_stop.after_seconds": "60",
    on_node_loss: "stop",
  });
  expect(draftLike({ ...last, storage_id: "stor_2" } as unknown as Instance, known).storage).toBe("new");
});

test("a new storage is made where the instance goes; without a storage any datacenter will do", () => {
  const made = orderOf(draft(), "de-2", false);
  expect(made).toMatchObject({
    datacenter: "de-2",
    new_storage: { name: "webui-2-files-1", storage_spec: "ssd", size_gib: 40 },
    idle_stop: { after_seconds: 1800 },
  });
  expect(made).not.toHaveProperty("wait");
  const none = orderOf(draft({ storage: "none", idle: false }), "de-2", true);
  expect(none).toMatchObject({ wait: true });
  for (const name of ["datacenter", "new_storage", "idle_stop", "env"]) expect(none).not.toHaveProperty(name);
});

test("a storage brings its datacenter with it", () => {
  const order = orderOf(
    draft({ storage: "existing", storage_id: "stor_1", datacenter: "de-2" }),
    "de-2",
    false,
  );
  expect(order.storage_id).toBe("stor_1");
  expect(order).not.toHaveProperty("datacenter");
});

test("secrets are in the order, and not in the command for a terminal; empty rows are in neither", () => {
  const order = orderOf(
    draft({
      env: [{ key: "a", name: " ", value: "" }],
      secrets: [{ key: "b", name: " HF_TOKEN ", value: "hf_x" }],
    }),
    null,
    false,
  );
  expect(order.env).toBeUndefined();
  expect(order.secrets).toEqual([{ name: "HF_TOKEN", value: "hf_x" }]);
  expect(JSON.stringify(withoutSecrets(order))).not.toContain("hf_x");
});

test("typing a name asks for no quote", () => {
  const part = (more: Partial<Draft>) => quotedPart(orderOf(draft(more), "uk-1", false));
  expect(part({ name: "other", "new_storage.size_gib": "80" })).toEqual(part({}));
});

test("what is missing is named at its field", () => {
  const say = (key: unknown) => String(key);
  const errors = missingOf(
    draft({
      gpu_spec: "",
      "new_storage.size_gib": "4.5",
      "idle_stop.after_seconds": "5",
      env: [{ key: "a", name: "1ST", value: "x" }],
    }),
    known.storageSpecs[0],
    say,
  );
  expect(Object.keys(errors)).toEqual([
    "gpu_spec",
    "new_storage.size_gib",
    "idle_stop.after_seconds",
    "env.0.name",
  ]);
  expect(missingOf(draft(), known.storageSpecs[0], say)).toEqual({});
});
