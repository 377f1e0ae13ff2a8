import { expect, test } from "vitest";
import { eventParser, type StreamEvent } from "./stream";

const parse = (...pieces: string[]) => {
  const events: StreamEvent[] = [];
  const take = eventParser((event) => events.push(event));
  for (const piece of pieces) take(piece);
  return events;
};

const whole = ': open\n\nid: 7\nevent: instance.started\ndata: {"a":\ndata: 1}\n\ndata: x\n\n';
const expected = [
  { id: "7", type: "instance.started", data: '{"a":\n1}' },
  { id: "7", type: "message", data: "x" },
];

test("comments and several lines of data", () => expect(parse(whole)).toEqual(expected));

test("however the stream is cut", () => {
  for (let at = 1; at < whole.length; at++)
    expect(parse(whole.slice(0, at), whole.slice(at))).toEqual(expected);
});

test("an event that has not ended is none", () => expect(parse("data: x\n")).toEqual([]));

test("an id alone is a position, told once", () =>
  expect(parse("retry: 1000\nid: 41\n\n", ": still here\n\n")).toEqual([
    { id: "41", type: "message", data: "" },
  ]));
