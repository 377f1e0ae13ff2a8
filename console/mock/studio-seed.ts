import type {
  Budget,
  Datacenter,
  DatacenterId,
  GpuSpec,
  GpuSpecId,
  Instance,
  InstanceId,
  Limits,
  MeteredRun,
  ServiceImage,
  StockRow,
  Storage,
  StorageSpec,
  StorageSpecId,
  TenantId,
  UserId,
} from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { historyOf } from "./history.ts";
import { makeId, makeSortedId } from "./ids.ts";
import type { Kept } from "./kept.ts";
import { stockSeed } from "./stock-seed.ts";
import { daysAgo, hoursAgo } from "./times.ts";
import { usageSeed } from "./usage-seed.ts";

const at = { created_at: daysAgo(200), updated_at: daysAgo(20) };

const datacenter = (n: number, name: string, region: string): Datacenter => ({
  id: makeId<DatacenterId>("dc", n),
  name,
  region,
  cluster: name,
  labels: {},
  state: "active",
  ...at,
});

const spec = (
  n: number,
  name: string,
  model: string,
  [video, cpu, memory]: [number, number, number],
  price: string,
  hold: string | null = "0.4",
): GpuSpec => ({
  id: makeId<GpuSpecId>("gspec", n),
  name,
  gpu_model: model,
  gpu_count: 1,
  gpu_cores: 8704,
  video_memory_mib: video * 1024,
  cpu_millis: cpu * 1000,
  memory_mib: memory * 1024,
  disk_gib: 50,
  price_per_hour: price,
  currency: "USD",
  hold_price_fraction: hold,
  allocation: { kind: "device", resource: "nvidia.com/gpu" },
  node_selector: {},
  state: "active",
  summary: `${model}, ${video} GiB, ${cpu} CPU, ${memory} GiB`,
  ...at,
});

const datacenters = [
  datacenter(1, "uk-1", "London"),
  datacenter(2, "de-2", "Frankfurt"),
  datacenter(3, "us-1", "Ashburn"),
];

export const specs = [
  spec(1, "3080-small-4-1", "NVIDIA-GeForce-RTX-3080", [10, 4, 16], "0.20"),
  spec(2, "3080-small-8-1", "NVIDIA-GeForce-RTX-3080", [10, 8, 32], "0.26"),
  spec(3, "4090-small-4-1", "NVIDIA-GeForce-RTX-4090", [24, 4, 32], "0.74"),
  spec(4, "l40s-small-8-1", "NVIDIA-L40S", [48, 8, 64], "1.12"),
  spec(5, "a100-small-4-1", "NVIDIA-A100-SXM4-40GB", [40, 4, 64], "1.89"),
  spec(6, "h100-small-16-1", "NVIDIA-H100-PCIe", [80, 16, 128], "2.95", null),
];

/** Free units by datacenter, in their order; null where there are none at all. */
const room: (number | null)[][] = [
  [14, 22, 9],
  [12, 9, 2],
  [8, 2, 0],
  [0, 11, 1],
  [0, 0, 0],
  [0, null, 2],
];

const makeStock = (): StockRow[] =>
  specs.flatMap((gpu_spec, i) =>
    datacenters.flatMap((place, j) => {
      const available = room[i]?.[j];
      if (available === null || available === undefined) return [];
      return {
        gpu_spec,
        datacenter: { id: place.id, name: place.name },
        datacenter_state: place.state,
        available,
        interruptible: 0,
        hold_back: 0,
        inactive: 1,
        used: 10,
        total: available + 11,
        price_per_hour: gpu_spec.price_per_hour,
        currency: "USD",
      };
    }),
  );

const service = (
  n: number,
  name: string,
  version: string,
  words: [en: string, zh: string],
  more: Partial<ServiceImage> & { port?: number; mount?: string | null } = {},
): ServiceImage => {
  const { port = 7860, mount = "/workspace", ...rest } = more;
  return {
    id: makeId<ServiceImage["id"]>("img", n),
    service: name,
    version,
    description: words[0],
    descriptions: { "zh-CN": words[1] },
    icon_url: null,
    links: [],
    template: {
      image: `registry.atelier.host/${name}:${version}`,
      ports: [{ port, protocol: "TCP", is_public: true, is_probe: true, base_url: "/" }],
      env: [{ name: "TZ" }],
      storage_mount_path: mount,
    },
    enabled: true,
    recommended: false,
    deprecated: false,
    ...at,
    ...rest,
  };
};

const webui: [string, string] = [
  "Make pictures in the browser: Stable Diffusion WebUI by AUTOMATIC1111",
  "在浏览器里生成图片：AUTOMATIC1111 的 Stable Diffusion WebUI",
];
const services = [
  service(1, "comfyui", "0.4", ["Make pictures with graphs of nodes: ComfyUI", "用节点图生成图片：ComfyUI"], {
    port: 8188,
    recommended: true,
  }),
  service(2, "jupyter", "pytorch-cuda12", ["JupyterLab with PyTorch", "带 PyTorch 的 JupyterLab"], {
    port: 8888,
    mount: "/home/jovyan/work",
    recommended: true,
  }),
  service(
    3,
    "lora-trainer",
    "2.1",
    ["Train a style or a character from pictures of your own", "用您自己的图片训练风格或角色"],
    { recommended: true },
  ),
  service(4, "stable-diffusion-webui", "1.5", webui, { deprecated: true }),
  service(5, "stable-diffusion-webui", "1.6", webui),
  service(6, "stable-diffusion-webui", "1.10", webui, { recommended: true }),
  service(
    7,
    "worker-trainer",
    "2.1",
    ["For pools: the runner with a trainer of styles and characters", "用于任务池：带训练引擎的运行器"],
    { recommended: true, mount: null },
  ),
  service(
    8,
    "worker-webui",
    "1.10",
    ["For pools: the runner with Stable Diffusion WebUI", "用于任务池：带 Stable Diffusion WebUI 的运行器"],
    { recommended: true, mount: null },
  ),
];

const storageSpec = (n: number, more: Partial<StorageSpec> & Pick<StorageSpec, "name">): StorageSpec => ({
  id: makeId<StorageSpecId>("sspec", n),
  kind: "volume",
  min_size_gib: 1,
  max_size_gib: 2048,
  price_per_gib_month: "0.03",
  currency: "USD",
  storage_class: null,
  access_mode: "read_write_many",
  state: "active",
  ...at,
  ...more,
});

const storageSpecs = [
  storageSpec(1, { name: "ssd" }),
  storageSpec(2, { name: "nvme", price_per_gib_month: "0.08", max_size_gib: 1024 }),
  storageSpec(3, { name: "archive", kind: "bucket", price_per_gib_month: "0.01", max_size_gib: 10_240 }),
];

export const storage = (
  n: number,
  tenant_id: TenantId,
  name: string,
  place: string | null,
  size_gib: number,
): Storage & { tenant_id: TenantId } => {
  const of = storageSpecs[place ? 0 : 2] as StorageSpec;
  return {
    tenant_id,
    id: makeId("stor", n),
    name,
    kind: of.kind,
    storage_spec: { id: of.id, name: of.name },
    size_gib,
    capacity_gib: place ? size_gib : null,
    state: "available",
    reason: null,
    message: null,
    datacenter: place,
    bucket: null,
    attachments: [],
    operation_id: makeId("op", 900 + n),
    price_per_gib_month: of.price_per_gib_month,
    currency: of.currency,
    ...at,
  };
};

export interface Draft extends Partial<Omit<Instance, "gpu_spec" | "datacenter" | "hold">> {
  name: string;
  spec: number;
  place?: string | null;
  days: number;
  storage?: Storage;
  hold?: { hours: number };
  /** Hours ago from and to. */
  ran?: [number, number][];
}

export function kept(n: number, tenant_id: TenantId, draft: Draft): Kept {
  const { spec: index, place = "uk-1", days, storage: mounted, hold, ran = [], ...more } = draft;
  const of = specs[index] as GpuSpec;
  const created_at = daysAgo(days);
  const id = makeSortedId<InstanceId>("inst", created_at, n);
  const host = id.slice(5, 17);
  const running = more.started_at ? [{ from: more.started_at, to: null as string | null }] : [];
  const runs: MeteredRun[] = [
    ...running,
    ...ran.map(([from, to]) => ({ from: hoursAgo(from), to: hoursAgo(to) as string | null })),
  ].map(({ from, to }, i) => ({
    id: makeId<MeteredRun["id"]>("run", n * 40 + i),
    kind: "running",
    started_at: from,
    ended_at: to,
    end_reason: to ? "stopped" : null,
    correction: null,
    seconds: Math.floor(((to ? Date.parse(to) : Date.now()) - Date.parse(from)) / 1000),
    price_per_hour: of.price_per_hour,
    currency: "USD",
    amount: "0",
  }));
  const it: Instance = {
    id,
    managed_by: null,
    state: "stopped",
    reason: null,
    message: null,
    queue: null,
    alternatives: null,
    log_tail: null,
    gpu_spec: { id: of.id, name: of.name },
    service: "stable-diffusion-webui",
    version: "1.10",
    image: null,
    storage_id: mounted?.id ?? null,
    on_node_loss: "restart",
    idle_stop: null,
    storages: mounted ? [{ storage_id: mounted.id, mount_path: "/workspace", read_only: false }] : [],
    secrets: [],
    url: `https://${host}.apps.atelier.example`,
    url_title: null,
    ports: [],
    node: more.state && more.state !== "stopped" && place ? `${place}-gpu-07` : null,
    operation_id: makeId("op", n),
    price_per_hour: of.price_per_hour,
    currency: "USD",
    created_at,
    updated_at: hoursAgo(0.5),
    started_at: null,
    ...more,
    datacenter: place,
    hold: hold
      ? {
          since: hoursAgo(1.5),
          until: hoursAgo(-hold.hours),
          price_per_hour: "0.296",
          currency: "USD",
        }
      : null,
  };
  mounted?.attachments.push({ instance_id: id, mode: "read_write", since: created_at });
  return {
    tenant_id,
    it,
    runs,
    attempt: 1,
    order: {
      name: it.name,
      gpu_spec: of.name,
      service: it.service,
      version: it.version,
      datacenter: place,
      storage_id: it.storage_id,
    },
  };
}

const ref = (index: number) => {
  const { id, name } = specs[index] as GpuSpec;
  return { id, name };
};

const failedLog = [
  "14:31:02 reserved de2-gpu-11, GPU 0",
  "14:31:06 pulling stable-diffusion-webui:1.5",
  "14:31:07 error: manifest unknown: tag 1.5 not found",
  "14:31:37 pulling stable-diffusion-webui:1.5, try 2 of 3",
  "14:31:38 error: manifest unknown: tag 1.5 not found",
].join("\n");

function instancesOf(studio: TenantId, other: TenantId, files: Record<string, Storage>): Kept[] {
  const drafts: Draft[] = [
    {
      name: "cover-art",
      days: 0.02,
      spec: 4,
      place: null,
      state: "pending",
      reason: "queued",
      message: "No unit is free. It starts when there is one.",
      queue: {
        is_known: true,
        waiting_for: { gpu_spec: ref(4), datacenter_id: null },
        position: 3,
        length: 5,
        since: hoursAgo(0.4),
        estimate: { starts_at: hoursAgo(-0.2), releases: 7, period_seconds: 7200 },
      },
      alternatives: [
        {
          gpu_spec: ref(3),
          datacenter: { id: datacenters[1]?.id as DatacenterId, name: "de-2" },
          available: 11,
          price_per_hour: "1.12",
          currency: "USD",
        },
      ],
    },
    {
      name: "winter-pass",
      days: 0.04,
      spec: 1,
      state: "starting",
      reason: "starting",
      message: "Loading the image, 61 %.",
      ran: [[9, 7.5]],
    },
    {
      name: "backgrounds-act-2",
      days: 6,
      spec: 2,
      state: "running",
      started_at: hoursAgo(0.7017),
      storage: files.act,
      ran: [
        [20, 17.6],
        [15, 9.8],
        [44, 36.5],
        [69, 66],
        [117, 109],
        [139, 137.5],
      ],
    },
    {
      name: "character-sheets",
      days: 9,
      spec: 0,
      version: "1.6",
      state: "running",
      started_at: hoursAgo(4.0533),
      storage: files.heroine,
      ran: [
        [20, 17.4],
        [15, 9],
        [43, 37],
        [67, 58.5],
        [93, 88],
        [140, 134],
        [188, 180],
      ],
    },
    {
      name: "lora-heroine",
      days: 3,
      spec: 4,
      place: "de-2",
      service: "lora-trainer",
      version: "2.1",
      state: "running",
      started_at: hoursAgo(1.3056),
      storage: files.training,
      ran: [[15, 11]],
    },
    {
      name: "props-and-weapons",
      days: 8,
      spec: 2,
      service: "comfyui",
      version: "0.4",
      state: "running",
      started_at: hoursAgo(7.092),
      idle_stop: {
        after_seconds: 21_600,
        gpu_below_percent: 5,
        cpu_below_percent: 10,
        idle_since: hoursAgo(6.2),
        stop_at: hoursAgo(-0.2),
      },
      ran: [[20, 18]],
    },
    {
      name: "trailer-frames",
      days: 4,
      spec: 2,
      hold: { hours: 2.5 },
      ran: [[6, 1.5]],
    },
    {
      name: "texture-tests",
      days: 5,
      spec: 1,
      place: "de-2",
      version: "1.5",
      reason: "image_pull_failed",
      message:
        "The image of stable-diffusion-webui 1.5 is not in the registry any more. Choose another version.",
      log_tail: failedLog,
      storage: files.textures,
    },
    {
      name: "dungeon-tiles",
      days: 7,
      spec: 3,
      place: "de-2",
      reason: "node_lost",
      message: "The instance's node does not answer. Start the instance again to use another node.",
      ran: [[12, 8.4]],
    },
    {
      name: "storyboard",
      days: 11,
      spec: 0,
      reason: "idle_stopped",
      message: "The instance was idle for 30 minutes.",
      ran: [[23, 20.8]],
    },
    {
      name: "worker-7c41",
      days: 1,
      spec: 1,
      place: "de-2",
      managed_by: "jobs",
      state: "stopping",
      service: "worker-webui",
    },
    { name: "poster-march", days: 31, spec: 0 },
  ];
  return [
    ...drafts.map((draft, i) => kept(i + 1, studio, draft)),
    kept(60, other, { name: "halden-lookdev", days: 2, spec: 3, state: "running", started_at: hoursAgo(2) }),
  ];
}

const limits: Limits = {
  instances: 20,
  gpus: 10,
  gpus_by_model: { "NVIDIA-H100-PCIe": 0 },
  cost_per_hour: { USD: "12.00" },
  own_images: false,
};

/** What was spent of it follows from the usage. */
const budget = (): Budget => ({
  terms: { amount: "500.00", currency: "USD", warn_percents: [50, 80], at_limit: "stop" },
  from: "",
  renews_at: "",
  spent: "0",
  spent_running: "0",
  spent_held: "0",
  rate_per_hour: "0",
  runs_out_at: null,
  steps: [],
  starts_refused: false,
  refused_until: null,
  max_rate_per_hour: null,
  worst_overspend: null,
});

/** The instances of the studios, and all that one needs to start more. */
export function studioSeed(studio: TenantId, other: TenantId, mira: UserId) {
  const act = storage(1, studio, "act-2-files", "uk-1", 40);
  const heroine = storage(2, studio, "heroine-sheets", "uk-1", 60);
  const training = storage(3, studio, "training-sets", "de-2", 200);
  const textures = storage(4, studio, "texture-refs", "de-2", 20);
  const shared = storage(5, studio, "shared-models", "uk-1", 200);
  const finished = storage(6, studio, "finished-pictures", null, 500);
  const instances = instancesOf(studio, other, { act, heroine, training, textures });
  return {
    ...stockSeed({ specs, datacenters, stock: makeStock(), services, storageSpecs }),
    storages: [act, heroine, training, textures, shared, finished],
    instances,
    limits: structuredClone(limits),
    budget: budget(),
    events: historyOf(instances, mira),
    ...usageSeed(studio, instances),
  } satisfies Partial<Backend>;
}
