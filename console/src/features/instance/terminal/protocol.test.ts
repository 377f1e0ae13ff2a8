import { expect, test } from "vitest";
import type { InstanceId } from "@/api/generated/types";
import { addressOf, fresh, hear, sizeFrame } from "./protocol";

const id = "inst_1" as InstanceId;
const bytes = (text: string) => new TextEncoder().encode(text).buffer as ArrayBuffer;

test("the first frame names the session, and output is counted in bytes", () => {
  const first = hear(fresh, '{"session":{"id":"term_1","offset":0}}');
  const { session, output } = hear(first.session, bytes("é$ "));
  expect(new TextDecoder().decode(output)).toBe("é$ ");
  expect(session).toEqual({ id: "term_1", received: 4, exit: null });
  expect(addressOf(id, session)).toBe("/v1/instances/inst_1/terminal?session=term_1&received=4");
  expect(addressOf(id, fresh)).toBe("/v1/instances/inst_1/terminal");
});

test("what was lost between two lines is known", () => {
  const session = { id: "term_1", received: 100, exit: null };
  expect(hear(session, '{"session":{"id":"term_1","offset":100}}').missed).toBeUndefined();
  const later = hear(session, '{"session":{"id":"term_1","offset":160}}');
  expect(later.missed).toBe(60);
  expect(later.session.received).toBe(160);
  expect(hear(session, '{"session":{"id":"term_2","offset":0}}').missed).toBeUndefined();
});

test("the last frame has the exit code; frames of later releases are not understood, and do no harm", () => {
  expect(hear(fresh, '{"exit_code":130}').session.exit).toBe(130);
  expect(hear(fresh, '{"weather":"rain"}')).toEqual({ session: fresh });
});

test("the size is a text frame", () => {
  expect(JSON.parse(sizeFrame(120, 40))).toEqual({ resize: { cols: 120, rows: 40 } });
});
