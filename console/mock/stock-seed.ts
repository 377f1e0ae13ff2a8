import type {
  Datacenter,
  DatacenterId,
  GpuSpec,
  GpuSpecId,
  Price,
  ServiceImage,
  StockRow,
} from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { makeId } from "./ids.ts";
import { operationsOf, repairs } from "./stock-history.ts";
import { daysAgo } from "./times.ts";

type Catalogue = Pick<Backend, "specs" | "datacenters" | "stock" | "services" | "storageSpecs">;

/** Inactive and used units of each specification in uk-1, de-2 and us-1. */
const counts: Record<string, [inactive: number, used: number][]> = {
  "3080-small-4-1": [
    [0, 32],
    [3, 26],
    [0, 15],
  ],
  "3080-small-8-1": [
    [0, 12],
    [0, 7],
    [2, 12],
  ],
  "4090-small-4-1": [
    [1, 45],
    [0, 34],
    [0, 16],
  ],
  "l40s-small-8-1": [
    [0, 8],
    [0, 13],
    [1, 6],
  ],
  "a100-small-4-1": [
    [0, 28],
    [2, 22],
    [0, 16],
  ],
  "h100-small-16-1": [
    [0, 16],
    [0, 0],
    [0, 14],
  ],
};

const row = (gpu_spec: GpuSpec, place: Datacenter, count: Partial<StockRow>): StockRow => {
  const { available = 0, inactive = 0, used = 0 } = count;
  return {
    gpu_spec,
    datacenter: { id: place.id, name: place.name },
    datacenter_state: place.state,
    interruptible: 0,
    hold_back: 0,
    price_per_hour: gpu_spec.price_per_hour,
    currency: gpu_spec.currency,
    available,
    inactive,
    used,
    total: available + inactive + used,
  };
};

const drained = (like: Datacenter): Datacenter => ({
  ...like,
  id: makeId<DatacenterId>("dc", 4),
  name: "sg-1",
  region: "Singapore",
  cluster: "sg-1",
  labels: { owner: "colocation-east" },
  state: "draining",
  created_at: daysAgo(520),
  updated_at: daysAgo(9),
});

const retired = (like: GpuSpec): GpuSpec[] => [
  {
    ...like,
    id: makeId<GpuSpecId>("gspec", 7),
    name: "2080ti-small-4-1",
    gpu_model: "NVIDIA-GeForce-RTX-2080-Ti",
    gpu_cores: 4352,
    video_memory_mib: 11 * 1024,
    price_per_hour: "0.14",
    allocation: { kind: "time_slice", resource: "nvidia.com/gpu.shared" },
    state: "retired",
    summary: "1 GPU / 1 x 11GB Video RAM / 4 CPU / 16GB Memory / 50GB Temporary Storage",
    created_at: daysAgo(700),
    updated_at: daysAgo(40),
  },
  {
    ...like,
    id: makeId<GpuSpecId>("gspec", 8),
    name: "a100-mig-1g-5",
    gpu_model: "NVIDIA-A100-SXM4-40GB",
    gpu_cores: 6912,
    video_memory_mib: 5 * 1024,
    price_per_hour: "0.31",
    allocation: { kind: "mig", resource: "nvidia.com/mig-1g.5gb" },
    node_selector: { "nvidia.com/mig.config": "all-1g.5gb" },
    state: "retired",
    summary: "1 GPU / 1 x 5GB Video RAM / 4 CPU / 16GB Memory / 50GB Temporary Storage",
    created_at: daysAgo(410),
    updated_at: daysAgo(75),
  },
];

/** A price that rose or fell twice before it came to what it is. */
function pricesOf(spec: GpuSpec): Price[] {
  const now = Number(spec.price_per_hour);
  const steps: [days: number, factor: number][] = [
    [400, 1.45],
    [210, 1.15],
    [24, 1],
  ];
  return steps
    .map(
      ([days, factor], i): Price => ({
        price_per_hour: i === 2 ? spec.price_per_hour : (now * factor).toFixed(2),
        currency: spec.currency,
        hold_price_fraction: i === 0 ? null : spec.hold_price_fraction,
        effective_from: daysAgo(days),
        effective_until: steps[i + 1] ? daysAgo(steps[i + 1]?.[0] ?? 0) : null,
      }),
    )
    .reverse();
}

/** What administrators keep besides: earlier versions, command lines, probes. */
function servicesOf(services: readonly ServiceImage[]): ServiceImage[] {
  const [comfy, jupyter] = services as [ServiceImage, ServiceImage];
  Object.assign(jupyter.template, {
    env: [
      { name: "TZ", value: "UTC" },
      { name: "JUPYTER_ENABLE_LAB", value: "yes" },
    ],
    args: ["start-notebook.py", "--ServerApp.base_url=/"],
    working_dir: "/home/jovyan/work",
    shm_size_mib: 8192,
    start_timeout_seconds: 300,
  });
  jupyter.links = [{ title: "JupyterLab documentation", url: "https://jupyterlab.readthedocs.io/" }];
  const earlier: ServiceImage = {
    ...structuredClone(comfy),
    id: makeId<ServiceImage["id"]>("img", 9),
    version: "0.3",
    enabled: false,
    recommended: false,
    created_at: daysAgo(320),
    updated_at: daysAgo(100),
  };
  earlier.template.image = "registry.atelier.host/comfyui:0.3";
  return [earlier, ...services];
}

/** The catalogue as administrators see it, and what became of its stock. A copy: no backend changes another's. */
export function stockSeed(catalogue: Catalogue) {
  const { specs, datacenters, stock, services, storageSpecs } = structuredClone(catalogue);
  const first = specs[0] as GpuSpec;
  const place = drained(datacenters[0] as Datacenter);
  const [turing, slice] = retired(first) as [GpuSpec, GpuSpec];
  for (const it of stock) {
    const column = datacenters.findIndex((other) => other.name === it.datacenter.name);
    const [inactive, used] = counts[it.gpu_spec.name]?.[column] ?? [0, 10];
    Object.assign(it, { inactive, used, total: it.available + inactive + used });
  }
  stock.push(
    row(first, place, { available: 4, inactive: 2, used: 9 }),
    row(turing, datacenters[0] as Datacenter, { used: 5, inactive: 1 }),
  );
  const all = [...specs, turing, slice];
  const archive = storageSpecs.find((it) => it.name === "archive");
  return {
    specs: all,
    datacenters: [...datacenters, place],
    stock,
    services: servicesOf(services),
    storageSpecs: archive
      ? [
          ...storageSpecs,
          {
            ...archive,
            id: makeId<typeof archive.id>("sspec", 4),
            name: "hdd",
            kind: "volume" as const,
            state: "retired" as const,
            storage_class: "hdd-replicated",
            price_per_gib_month: "0.02",
          },
        ]
      : storageSpecs,
    units: [],
    stockOperations: operationsOf(stock),
    repairs: structuredClone(repairs),
    prices: new Map(all.map((spec) => [spec.id, pricesOf(spec)])),
  };
}
