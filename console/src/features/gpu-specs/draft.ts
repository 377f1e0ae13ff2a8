import type { Allocation, GpuSpec, GpuSpecPatch, NewGpuSpec } from "@/api/generated/types";
import { labelsOf, labelsText, lines } from "@/domain/catalogue/labels";

export const allocationKinds = [
  "device",
  "mig",
  "time_slice",
  "hami",
  "dra",
] as const satisfies Allocation["kind"][];

/** A specification as its form has it: sizes in GiB and cores, lists as lines. Names are those of the body's fields. */
export interface Draft {
  name: string;
  gpu_model: string;
  gpu_count: string;
  gpu_cores: string;
  video_memory_mib: string;
  cpu_millis: string;
  memory_mib: string;
  disk_gib: string;
  price_per_hour: string;
  currency: string;
  holds: boolean;
  hold_price_fraction: string;
  kind: Allocation["kind"];
  "allocation.resource": string;
  "allocation.memory_mib": string;
  "allocation.cores": string;
  "allocation.device_class": string;
  "allocation.selectors": string;
  node_selector: string;
}

export const emptyDraft: Draft = {
  name: "",
  gpu_model: "",
  gpu_count: "1",
  gpu_cores: "",
  video_memory_mib: "",
  cpu_millis: "4",
  memory_mib: "16",
  disk_gib: "50",
  price_per_hour: "",
  currency: "USD",
  holds: true,
  hold_price_fraction: "40",
  kind: "device",
  "allocation.resource": "nvidia.com/gpu",
  "allocation.memory_mib": "",
  "allocation.cores": "",
  "allocation.device_class": "gpu.nvidia.com",
  "allocation.selectors": "",
  node_selector: "",
};

/** What each kind usually asks the cluster for. */
export const usualResource: Record<"device" | "mig" | "time_slice", string> = {
  device: "nvidia.com/gpu",
  mig: "nvidia.com/mig-1g.10gb",
  time_slice: "nvidia.com/gpu.shared",
};

const number = (value: number) => String(Math.round(value * 10_000) / 10_000);
const gib = (mib: number) => number(mib / 1024);
const mib = (text: string) => Math.round(Number(text) * 1024);
export function draftOf(spec: GpuSpec): Draft {
  const { allocation } = spec;
  return {
    ...emptyDraft,
    name: spec.name,
    gpu_model: spec.gpu_model,
    gpu_count: String(spec.gpu_count),
    gpu_cores: String(spec.gpu_cores),
    video_memory_mib: gib(spec.video_memory_mib),
    cpu_millis: number(spec.cpu_millis / 1000),
    memory_mib: gib(spec.memory_mib),
    disk_gib: String(spec.disk_gib),
    price_per_hour: spec.price_per_hour,
    currency: spec.currency,
    holds: spec.hold_price_fraction !== null,
    hold_price_fraction:
      spec.hold_price_fraction === null
        ? emptyDraft.hold_price_fraction
        : number(Number(spec.hold_price_fraction) * 100),
    kind: allocation.kind,
    ...("resource" in allocation && { "allocation.resource": allocation.resource }),
    ...(allocation.kind === "hami" && {
      "allocation.memory_mib": gib(allocation.memory_mib),
      "allocation.cores": String(allocation.cores),
    }),
    ...(allocation.kind === "dra" && {
      "allocation.device_class": allocation.device_class,
      "allocation.selectors": (allocation.selectors ?? []).join("\n"),
    }),
    node_selector: labelsText(spec.node_selector),
  };
}

function allocationOf(draft: Draft): Allocation {
  switch (draft.kind) {
    case "hami":
      return {
        kind: "hami",
        memory_mib: mib(draft["allocation.memory_mib"]),
        cores: Number(draft["allocation.cores"]),
      };
    case "dra":
      return {
        kind: "dra",
        device_class: draft["allocation.device_class"],
        selectors: lines(draft["allocation.selectors"]),
      };
    default:
      return { kind: draft.kind, resource: draft["allocation.resource"] };
  }
}

export const bodyOf = (draft: Draft): NewGpuSpec => ({
  name: draft.name,
  gpu_model: draft.gpu_model,
  gpu_count: Number(draft.gpu_count),
  gpu_cores: Number(draft.gpu_cores),
  video_memory_mib: mib(draft.video_memory_mib),
  cpu_millis: Math.round(Number(draft.cpu_millis) * 1000),
  memory_mib: mib(draft.memory_mib),
  disk_gib: Number(draft.disk_gib),
  price_per_hour: draft.price_per_hour,
  currency: draft.currency,
  hold_price_fraction: draft.holds ? number(Number(draft.hold_price_fraction) / 100) : null,
  allocation: allocationOf(draft),
  node_selector: labelsOf(draft.node_selector),
});

/** Only what differs from the specification as it was read: what others change meanwhile stays theirs. */
export function patchOf(draft: Draft, base: GpuSpec): GpuSpecPatch {
  const [to, from] = [bodyOf(draft), bodyOf(draftOf(base))];
  const changed = Object.entries(to).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(from[name as keyof NewGpuSpec]),
  );
  return Object.fromEntries(changed);
}

/** What somebody else changed meanwhile comes into the form where its person has typed nothing. */
export function merged(draft: Draft, base: GpuSpec, now: GpuSpec): Draft {
  const [from, to] = [draftOf(base), draftOf(now)];
  const untouched = Object.entries(to).filter(([name]) => {
    const field = name as keyof Draft;
    return draft[field] === from[field];
  });
  return { ...draft, ...Object.fromEntries(untouched) };
}
