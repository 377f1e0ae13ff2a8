import { expect, test } from "vitest";
import { differences } from "./differences";

test("what differs is named by its pointer", () => {
  const from = {
    template: { image: "a:1", ports: [{ port: 80 }], env: [{ name: "A", value: "1" }] },
    links: [],
  };
  const to = { template: { image: "a:2", ports: [{ port: 80 }], env: [] }, links: [] };
  expect(differences(from, to)).toEqual([
    { key: "/template/image", label: "template/image", from: "a:1", to: "a:2" },
    { key: "/template/env", label: "template/env", from: '[{"name":"A","value":"1"}]', to: "[]" },
  ]);
  expect(differences(from, structuredClone(from))).toEqual([]);
});

test("what was not there came from nothing", () => {
  expect(differences({}, { shm_size_mib: 64 })).toEqual([
    { key: "/shm_size_mib", label: "shm_size_mib", from: "", to: "64" },
  ]);
});
