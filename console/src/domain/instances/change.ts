import type { QueryClient } from "@tanstack/react-query";
import { call, environment } from "@/api/client";
import { getInstance, startInstance, stopInstance, updateInstance } from "@/api/generated/operations";
import type { Instance } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";

/** So often it is looked whether the waiting start has ended, a second apart. */
const LOOKS = 30;

/** Gives up a start that waits, changes what is ordered, and starts that. Each request is one press's, by its key. */
export async function changeAndStart(
  client: QueryClient,
  it: Pick<Instance, "id" | "state">,
  wanted: { version?: string; gpu_spec?: string },
  key: string,
): Promise<void> {
  const path = { id: it.id };
  if (it.state !== "stopped") {
    putInstance(client, await call(stopInstance, { path }, { key: `${key}-stop` }));
    for (let i = 0; i < LOOKS; i++) {
      const now = await call(getInstance, { path });
      putInstance(client, now);
      if (now.state === "stopped") break;
      await environment.wait(1);
    }
  }
  // the change carries the state that was read last
  await call(getInstance, { path });
  putInstance(client, await call(updateInstance, { path, body: wanted }, { key: `${key}-change` }));
  putInstance(client, await call(startInstance, { path }, { key: `${key}-start` }));
}
