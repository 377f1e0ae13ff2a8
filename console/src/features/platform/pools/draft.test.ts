import { describe, expect, it } from "vitest";
import type { Pool, PoolId, TenantId } from "@/api/generated/types";
import { bodyOf, draftOf, emptyDraft, merged, patchOf } from "./draft";

const pool = (more: Partial<Pool> = {}): Pool => ({
  id: "pool_1" as PoolId,
  name: "generation",
  gpu_specs: ["3080-small-8-1"],
  tenant_id: "ten_1" as TenantId,
  applications: ["stable-diffusion"],
  dedicated: false,
  workers: { service: "worker-webui", version: null, min: 1, max: 4 },
  level_factors: { urgent: "1.5", ordinary: "1", background: "0.4" },
  status: {
    desired: 1,
    actual: 1,
    lent_desired: 0,
    lent_actual: 0,
    ready: 1,
    problem: null,
    retry_at: null,
  },
  created_at: "2026-11-01T00:00:00Z",
  ...more,
});

describe("a pool in its form", () => {
  it("has no workers in its body unless the platform runs them", () => {
    expect(bodyOf({ ...emptyDraft, workers: false }).workers).toBeNull();
    expect(bodyOf({ ...emptyDraft, "workers.version": "" }).workers?.version).toBeNull();
  });

  it("sends nothing while nothing is changed, also of what the API left out", () => {
    expect(patchOf(draftOf(pool()), pool())).toEqual({});
  });

  it("sends only the parts that differ, and null to end the workers", () => {
    const draft = draftOf(pool());
    expect(patchOf({ ...draft, "level_factors.background": "0.5" }, pool())).toEqual({
      level_factors: { urgent: "1.5", ordinary: "1", background: "0.5" },
    });
    expect(patchOf({ ...draft, workers: false }, pool())).toEqual({ workers: null });
    expect(patchOf({ ...draft, applications: ["dreambooth", "stable-diffusion"] }, pool())).toEqual({
      applications: ["stable-diffusion", "dreambooth"],
    });
  });

  it("takes what others changed where nothing was typed", () => {
    const base = pool();
    const theirs = pool({ workers: { service: "worker-webui", version: "1.10", min: 2, max: 9 } });
    const mine = { ...draftOf(base), "workers.max": "6" };
    expect(patchOf(merged(mine, base, theirs), theirs)).toEqual({
      workers: { service: "worker-webui", version: "1.10", min: 2, max: 6, lent_max: 0 },
    });
  });
});
