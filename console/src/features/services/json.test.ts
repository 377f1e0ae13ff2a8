import { expect, test } from "vitest";
import { textOf } from "@/i18n";
import { catalogue } from "@/i18n/en/catalogue";
import { checkTemplate } from "./check";
import { lineOf, parseTemplate } from "./json";
import { asText, draftOf, emptyTemplate, normal, templateOf } from "./template";

const t = textOf("en", { catalogue });

const source = `{
  "image": "a:1",
  "ports": [
    { "port": 1 },
    {
      "port": 80,
      "protocol": "UDP"
    }
  ],
  "env": []
}`;

test("a pointer is found on its line, or on that of what holds it", () => {
  expect(lineOf(source, "/image")).toBe(2);
  expect(lineOf(source, "/ports")).toBe(3);
  expect(lineOf(source, "/ports/0/port")).toBe(4);
  expect(lineOf(source, "/ports/1")).toBe(5);
  expect(lineOf(source, "/ports/1/protocol")).toBe(7);
  expect(lineOf(source, "/ports/1/base_url")).toBe(5);
  expect(lineOf(source, "/args")).toBe(1);
});

test("text that is no template says where", () => {
  expect(parseTemplate("{", t).faults?.[0]?.detail).toContain("This is not JSON");
  const { faults } = parseTemplate('{"image": 1, "ports": [{"port": "x", "size": "y"}]}', t);
  expect(faults?.map((it) => it.pointer).sort()).toEqual([
    "/template/image",
    "/template/ports/0/port",
    "/template/ports/0/size",
  ]);
});

test("a template comes out of its form as it went in", () => {
  const template = {
    ...emptyTemplate,
    image: "a:1",
    command: ["sh", "-c"],
    env: [{ name: "A", value: "b" }],
    shm_size_mib: 64,
  };
  expect(templateOf(draftOf(template))).toEqual(normal(template));
  expect(parseTemplate(asText(normal(template)), t).template).toEqual(normal(template));
});

test("what the service refuses is known before", () => {
  const pointers = (change: object) =>
    checkTemplate({ ...emptyTemplate, image: "a:1", ...change }, t).map((it) => it.pointer);
  expect(pointers({})).toEqual([]);
  expect(pointers({ image: "" })).toEqual(["/template/image"]);
  expect(pointers({ ports: [] })).toEqual(["/template/ports", "/template/ports"]);
  expect(pointers({ ports: [{ port: 0, protocol: "UDP", is_public: true, is_probe: true }] })).toEqual([
    "/template/ports/0/port",
    "/template/ports/0/protocol",
  ]);
  expect(pointers({ env: [{ name: "1A" }, { name: "ATELIER_X" }, { name: "B" }, { name: "B" }] })).toEqual([
    "/template/env/0/name",
    "/template/env/1/name",
    "/template/env/3/name",
  ]);
  expect(pointers({ working_dir: "x", start_timeout_seconds: 0 })).toEqual([
    "/template/working_dir",
    "/template/start_timeout_seconds",
  ]);
});
