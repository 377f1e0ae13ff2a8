import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "@playwright/test";
import { designer, signIn } from "../platform";

/** Another origin of the same site: the browser sends the session's cookie with its requests. */
async function foreignOrigin() {
  const server = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end("<title>Foreign</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://localhost:${port}/`, close: () => server.close() };
}

test("a page of another origin of the same site gets nothing with the session's cookie", async ({
  page,
  context,
  baseURL: address,
}) => {
  const baseURL = address ?? "";
  await signIn(page, designer);
  const foreign = await context.newPage();
  const origin = await foreignOrigin();
  await foreign.goto(origin.url);
  // also of what the browser then keeps from the page; its three events come in any order
  const network = await context.newCDPSession(foreign);
  await network.send("Network.enable");
  const asked = new Map<string, string>();
  network.on("Network.requestWillBeSent", ({ requestId, request: { method, url } }) => {
    if (url.startsWith(baseURL)) asked.set(requestId, `${method} ${new URL(url).pathname}`);
  });
  const cookies = new Map<string, string>();
  network.on("Network.requestWillBeSentExtraInfo", ({ requestId, associatedCookies }) => {
    const sent = associatedCookies.some((it) => it.blockedReasons.length === 0);
    cookies.set(requestId, sent ? "with the cookie" : "without the cookie");
  });
  const statuses = new Map<string, number>();
  network.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => {
    statuses.set(requestId, statusCode);
  });
  const answers = () =>
    [...asked].map(([id, request]) => `${request}: ${statuses.get(id)} ${cookies.get(id)}`).toSorted();
  await foreign.evaluate(async (platform) => {
    const ask = (path: string, more: RequestInit = {}) =>
      fetch(`${platform}${path}`, { mode: "no-cors", credentials: "include", ...more });
    await Promise.allSettled([
      ask("/v1/me"),
      ask("/v1/stream"),
      ask("/v1/events?after=latest"),
      ask("/v1/instances", { method: "POST", body: '{"name":"foreign"}' }),
      ask("/v1/sessions/current", { method: "POST", body: "{}" }),
    ]);
  }, baseURL);
  await expect
    .poll(answers)
    .toEqual([
      "GET /v1/events: 403 with the cookie",
      "GET /v1/me: 403 with the cookie",
      "GET /v1/stream: 403 with the cookie",
      "POST /v1/instances: 403 with the cookie",
      "POST /v1/sessions/current: 403 with the cookie",
    ]);

  await test.step("nor by a form, a frame or a WebSocket", async () => {
    const [refused] = await Promise.all([
      foreign.waitForResponse(`${baseURL}/v1/instances`),
      foreign.evaluate((platform) => {
        const form = document.createElement("form");
        Object.assign(form, { method: "POST", action: `${platform}/v1/instances`, enctype: "text/plain" });
        document.body.append(form);
        form.submit();
      }, baseURL),
    ]);
    expect(refused.status()).toBe(403);
    await foreign.waitForURL(`${baseURL}/v1/instances`);
    await foreign.goto(origin.url);
    await foreign.setContent(`<iframe src="${baseURL}/overview"></iframe>`);
    await expect.poll(() => foreign.frames().at(-1)?.url()).toMatch(/^chrome-error:/);
    const closed = await foreign.evaluate(
      (platform) =>
        new Promise((resolve) => {
          const socket = new WebSocket(`${platform.replace("http", "ws")}/v1/instances/inst_0/terminal`);
          socket.onopen = () => resolve("open");
          socket.onerror = () => resolve("refused");
        }),
      baseURL,
    );
    expect(closed).toBe("refused");
  });
  origin.close();
});
