import { expect, test } from "vitest";
import type { GpuSpec } from "@/api/generated/types";
import { bodyOf, draftOf, emptyDraft, merged, patchOf } from "./draft";

const spec = {
  name: "3080-small-4-1",
  gpu_model: "NVIDIA-GeForce-RTX-3080",
  gpu_count: 1,
  gpu_cores: 8704,
  video_memory_mib: 10_240,
  cpu_millis: 500,
  memory_mib: 1536,
  disk_gib: 50,
  price_per_hour: "0.2",
  currency: "USD",
  hold_price_fraction: "0.25",
  allocation: { kind: "device", resource: "nvidia.com/gpu" },
  node_selector: { zone: "a", "atelier.dev/pool": "x=1" },
} as unknown as GpuSpec;

test("a specification comes out of its form as it went in", () => {
  expect(draftOf(spec)).toMatchObject({ cpu_millis: "0.5", memory_mib: "1.5", hold_price_fraction: "25" });
  expect(bodyOf(draftOf(spec))).toEqual({ ...spec });
  expect(patchOf(draftOf(spec), spec)).toEqual({});
});

test("only what was changed is sent", () => {
  expect(patchOf({ ...draftOf(spec), price_per_hour: "0.22", holds: false }, spec)).toEqual({
    price_per_hour: "0.22",
    hold_price_fraction: null,
  });
});

test("each kind of allocation has fields of its own", () => {
  const hami = {
    ...emptyDraft,
    kind: "hami" as const,
    "allocation.memory_mib": "4",
    "allocation.cores": "30",
  };
  expect(bodyOf(hami).allocation).toEqual({ kind: "hami", memory_mib: 4096, cores: 30 });
  const dra = { ...emptyDraft, kind: "dra" as const, "allocation.selectors": "a == 1\n\n b == 2 " };
  expect(bodyOf(dra).allocation).toEqual({
    kind: "dra",
    device_class: "gpu.nvidia.com",
    selectors: ["a == 1", "b == 2"],
  });
});

test("what another administrator changed stays theirs", () => {
  const theirs = { ...spec, disk_gib: 80, price_per_hour: "0.3" };
  const mine = { ...draftOf(spec), price_per_hour: "0.22" };
  const draft = merged(mine, spec, theirs);
  expect(draft).toMatchObject({ disk_gib: "80", price_per_hour: "0.22" });
  expect(patchOf(draft, theirs)).toEqual({ price_per_hour: "0.22" });
});
