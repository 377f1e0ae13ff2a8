import type { BaseModel, Model } from "@/api/generated/types";

/** Each word is somewhere in the name or the base model. */
export function matches({ name, base_model }: Pick<Model, "name" | "base_model">, wanted: string): boolean {
  const text = `${name} ${base_model}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** What workers have by one name, whatever for and in whichever pool. */
export interface Base {
  name: string;
  draws: boolean;
  trained: boolean;
  pools: { name: string; workers: number }[];
}

export function basesOf(items: readonly BaseModel[]): Base[] {
  const bases = new Map<string, Base>();
  for (const { name, kind, pool, workers } of items) {
    const base = bases.get(name) ?? { name, draws: false, trained: false, pools: [] };
    if (kind === "checkpoint") base.draws = true;
    else base.trained = true;
    const known = base.pools.find((it) => it.name === pool);
    if (known) known.workers = Math.max(known.workers, workers);
    else base.pools.push({ name: pool, workers });
    bases.set(name, base);
  }
  return [...bases.values()].sort(
    (a, b) => Number(b.trained) - Number(a.trained) || a.name.localeCompare(b.name),
  );
}
