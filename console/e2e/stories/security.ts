import { expect, test } from "@playwright/test";
import { designer, signIn } from "../platform";

/** Another host of the same site: the browser sends the session's cookie with its requests. */
const FOREIGN = "http://foreign.localhost:9999/";

test("a page of another host of the same site gets nothing with the session's cookie", async ({
  page,
  context,
  baseURL = "",
}) => {
  await signIn(page, designer);
  const foreign = await context.newPage();
  await foreign.route(`${FOREIGN}**`, (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>Foreign</title>" }),
  );
  await foreign.goto(FOREIGN);
  const answers: string[] = [];
  foreign.on("response", async (it) => {
    if (!it.url().startsWith(baseURL)) return;
    const sent = (await it.request().allHeaders()).cookie ? "with the cookie" : "without the cookie";
    answers.push(`${it.request().method()} ${new URL(it.url()).pathname}: ${it.status()} ${sent}`);
  });
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
  await expect.poll(() => answers.length).toBe(5);
  expect(answers.toSorted()).toEqual([
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
    await foreign.goto(FOREIGN);
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
});
