import { expect, test } from "vitest";
import type { Budget, Datacenter, GpuSpec, Quota, StockRow } from "@/api/generated/types";
import {
  bestPlace,
  firstChoice,
  gpuTitle,
  insteadOf,
  type Limits,
  levelOf,
  offersOf,
  roomInQuota,
} from "./rules";

const spec = (name: string, price: string, more: Partial<GpuSpec> = {}) =>
  ({
    id: name,
    name,
    gpu_model: name.toUpperCase(),
    gpu_count: 1,
    video_memory_mib: 24_576,
    price_per_hour: price,
    currency: "USD",
    ...more,
  }) as GpuSpec;

const row = (of: GpuSpec, datacenter: string, available: number, more: Partial<StockRow> = {}) =>
  ({
    gpu_spec: of,
    datacenter: { id: datacenter, name: datacenter },
    datacenter_state: "active",
    available,
    ...more,
  }) as StockRow;

const small = spec("small", "0.20", { video_memory_mib: 10_240 });
const middle = spec("middle", "0.74");
const large = spec("large", "1.89", { video_memory_mib: 40_960 });
const places = [{ name: "uk-1" }, { name: "de-2" }] as Datacenter[];
const stock = [
  row(small, "de-2", 2),
  row(small, "uk-1", 9),
  row(middle, "de-2", 4),
  row(large, "uk-1", 0),
  row(large, "de-2", 0),
];

const quota = (limits: Quota["limits"], used: Partial<Quota["used"]> = {}): Quota => ({
  limits,
  used: { instances: 3, gpus: { MIDDLE: 2 }, cost_per_hour: { USD: "1.48" }, ...used },
});
const free: Limits = { quota: quota({}), budget: null, place: null };
const offers = (limits: Limits = free) => offersOf([large, middle, small], stock, places, limits);
const states = (limits?: Limits) => offers(limits).map((it) => `${it.spec.name} ${it.why?.code ?? it.state}`);

test("what can start now comes first, then by price; rooms in the order of the datacenters", () => {
  expect(states()).toEqual(["small now", "middle now", "large full"]);
  expect(offers()[0]?.rooms.map((it) => `${it.datacenter} ${it.level}`)).toEqual(["uk-1 many", "de-2 few"]);
  expect([levelOf(5), levelOf(4), levelOf(1), levelOf(0)]).toEqual(["many", "few", "few", "none"]);
});

test("a draining datacenter has no room", () => {
  const rows = [row(small, "uk-1", 9, { datacenter_state: "draining" })];
  expect(offersOf([small], rows, places, free)[0]?.state).toBe("full");
});

test("a storage binds to its datacenter", () => {
  expect(states({ ...free, place: "uk-1" })).toEqual(["small now", "large full", "middle elsewhere"]);
});

test("quotas of GPUs, of a model and of the cost are said before the press", () => {
  expect(states({ ...free, quota: quota({ gpus: 2 }) })).toEqual([
    "small quota",
    "middle quota",
    "large quota",
  ]);
  expect(states({ ...free, quota: quota({ gpus_by_model: { MIDDLE: 2 } }) })).toEqual([
    "small now",
    "large full",
    "middle quota",
  ]);
  // 1.48 + 0.20 is allowed to the cent
  expect(states({ ...free, quota: quota({ cost_per_hour: { USD: "1.68" } }) })).toEqual([
    "small now",
    "middle cost",
    "large cost",
  ]);
});

test("a spent budget refuses all, the rate that is left refuses what is dearer", () => {
  const budget = (more: Partial<Budget>) =>
    ({
      terms: { amount: "600", currency: "USD" },
      starts_refused: false,
      refused_until: null,
      rate_per_hour: "1.48",
      max_rate_per_hour: null,
      ...more,
    }) as Budget;
  expect(states({ ...free, budget: budget({ starts_refused: true }) })).toEqual([
    "small budget",
    "middle budget",
    "large budget",
  ]);
  expect(states({ ...free, budget: budget({ max_rate_per_hour: "2.00" }) })).toEqual([
    "small now",
    "middle budget-rate",
    "large budget-rate",
  ]);
  const euros = budget({ starts_refused: true, terms: { amount: "600", currency: "EUR" } });
  expect(states({ ...free, budget: euros })).toEqual(["small now", "middle now", "large full"]);
});

test("what was used last is chosen first, if it can start", () => {
  expect(firstChoice(offers(), "middle")).toBe("middle");
  expect(firstChoice(offers(), "large")).toBe("small");
  expect(firstChoice([], "large")).toBe("");
});

test("instead of what is full: as much video memory if there is, nearest in price", () => {
  const [first, second, full] = offers();
  expect(full && insteadOf(full, offers(), null)).toEqual([
    { spec: second?.spec, datacenter: "de-2" },
    { spec: first?.spec, datacenter: "uk-1" },
  ]);
  expect(bestPlace(first)).toBe("uk-1");
});

test("the room in the quota is the least of its limits", () => {
  expect(roomInQuota(quota({ instances: 8, gpus: 4 }))).toBe(2);
  expect(roomInQuota(quota({}))).toBeNull();
  expect(roomInQuota(quota({ instances: 2 }))).toBe(0);
});

test("titles of GPUs", () => {
  const title = (gpu_model: string, gpu_count = 1) => gpuTitle({ gpu_model, gpu_count });
  expect(title("NVIDIA-GeForce-RTX-4090")).toBe("RTX 4090");
  expect(title("NVIDIA-A100-SXM4-40GB", 2)).toBe("2 × A100 SXM4");
});
