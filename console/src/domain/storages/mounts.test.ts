import { expect, test } from "vitest";
import type { Instance, Storage } from "@/api/generated/types";
import { mountsOf } from "./mounts";

const instance = (id: string, state: Instance["state"], storage_id: string) =>
  ({ id, state, storages: [{ storage_id, mount_path: "/data", read_only: false }] }) as unknown as Instance;

const storage = (...ids: string[]) =>
  ({
    id: "stor_1",
    attachments: ids.map((instance_id) => ({ instance_id, mode: "read_write", since: "" })),
  }) as unknown as Storage;

test("instances that run come first, with the path at which they mount it", () => {
  const mounts = mountsOf(storage("inst_1", "inst_2"), [
    instance("inst_1", "stopped", "stor_1"),
    instance("inst_2", "running", "stor_1"),
  ]);
  expect(mounts.map((it) => [it.instance?.id, it.path])).toEqual([
    ["inst_2", "/data"],
    ["inst_1", "/data"],
  ]);
});

test("of an instance that is not known only the attachment is told", () => {
  const [mount] = mountsOf(storage("inst_9"), []);
  expect(mount).toMatchObject({ instance: undefined, path: null, attachment: { instance_id: "inst_9" } });
});
