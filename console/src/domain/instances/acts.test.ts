// @vitest-environment happy-dom
import { QueryClient } from "@tanstack/react-query";
import { afterEach, expect, test } from "vitest";
import { environment } from "@/api/client";
import type { Instance, InstanceId } from "@/api/generated/types";
import { keys, knownInstance } from "@/api/instances/cache";
import { actAsCurl, actOn } from "./acts";

const send = environment.fetch;
afterEach(() => {
  environment.fetch = send;
});

const it = {
  id: "inst_acts" as InstanceId,
  name: "sheets",
  state: "running",
  updated_at: "2026-11-27T12:00:00Z",
} as Instance;

function answering(...answers: (() => Response)[]) {
  const sent: (string | null)[] = [];
  const client = new QueryClient();
  client.setQueryData(keys.one(it.id), it);
  environment.fetch = (_, init) => {
    sent.push(new Headers(init?.headers).get("idempotency-key"));
    return Promise.resolve((answers.shift() ?? (() => Response.error()))());
  };
  return { client, sent };
}

const problem = (slug: string, status: number) => () =>
  new Response(JSON.stringify({ type: `https://atelier.dev/problems/${slug}`, status, detail: slug }), {
    status,
    headers: { "content-type": "application/json" },
  });
const stopping = () =>
  new Response(JSON.stringify({ ...it, state: "stopping", updated_at: "2026-11-27T12:00:01Z" }), {
    status: 202,
  });

test("a press of which nobody knows the outcome is repeated with its key, a refused one is a new press", async () => {
  const { client, sent } = answering(problem("internal", 500), problem("instance-state", 409), stopping);
  await expect(actOn(client, "stop", it.id)).rejects.toThrow("internal");
  expect(knownInstance(client, it.id)?.state).toBe("running");
  await expect(actOn(client, "stop", it.id)).rejects.toThrow("instance-state");
  const press = actOn(client, "stop", it.id);
  expect(knownInstance(client, it.id)?.state).toBe("stopping");
  await press;
  expect(knownInstance(client, it.id)?.updated_at).toBe("2026-11-27T12:00:01Z");
  expect(sent[0]).toBe(sent[1]);
  expect(sent[2]).not.toBe(sent[1]);
});

test("the command for a terminal is the request of the press", () => {
  expect(actAsCurl("wait", it.id)).toContain("/v1/instances/inst_acts/start?wait=true");
  expect(actAsCurl("delete", it.id)).toContain("-X DELETE");
});
