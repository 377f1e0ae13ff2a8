import { type Browser, type BrowserContext, chromium, type Page, type Request } from "@playwright/test";
import config from "../playwright.config.ts";

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not given: run \`cargo xtask bench console\``);
  return value;
}

export const url = given("CONSOLE_URL");
export const rounds = Number(given("ROUNDS"));
const designer = { email: given("DESIGNER_EMAIL"), password: given("DESIGNER_PASSWORD") };

export const launch = () => chromium.launch(config.use?.launchOptions);

type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

/** A person signs in. Returns what the browser keeps of it. */
export async function signIn(browser: Browser): Promise<Session> {
  const context = await browser.newContext({ baseURL: url });
  const page = await context.newPage();
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(designer.email);
  await page.getByLabel("Password", { exact: true }).fill(designer.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL("**/overview");
  const session = await context.storageState();
  await context.close();
  return session;
}

/** The token of another client of the same person. */
export async function token(): Promise<string> {
  const answer = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(designer),
  });
  if (!answer.ok) throw new Error(`the sign-in was answered with ${answer.status}`);
  return (await answer.json()).access_token;
}

/** A new browser of the person, which has loaded nothing yet. */
export interface Visit {
  page: Page;
  requests: readonly Request[];
  /** Waits until nothing has been asked for for half a second, but streams. */
  settled: () => Promise<void>;
  /** Fails if the page has written a fault, or an answer was one. */
  end: () => Promise<void>;
}

export async function visit(browser: Browser, session: Session): Promise<Visit> {
  const context = await browser.newContext({
    baseURL: url,
    storageState: session,
    viewport: config.use?.viewport ?? null,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  const requests: Request[] = [];
  const open = new Set<Request>();
  let last = 0;
  const over = (request: Request) => {
    open.delete(request);
    last = Date.now();
  };
  page.on("request", (request) => {
    requests.push(request);
    last = Date.now();
    if (request.headers().accept !== "text/event-stream") open.add(request);
  });
  page.on("requestfinished", over);
  page.on("requestfailed", over);
  page.on("response", (answer) => {
    if (answer.status() >= 400) faults.push(`${answer.url()}: ${answer.status()}`);
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  return {
    page,
    requests,
    settled: async () => {
      const limit = Date.now() + 60_000;
      while (open.size > 0 || Date.now() - last < 500) {
        if (Date.now() > limit) throw new Error(`never at rest: ${[...open].map((it) => it.url())}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    end: async () => {
      const alerts = await page.getByRole("alert").or(page.getByText("cannot be read")).allInnerTexts();
      await context.close();
      const all = [...faults, ...alerts.filter(Boolean)];
      if (all.length > 0) throw new Error(`${page.url()} shows faults:\n${all.join("\n")}`);
    },
  };
}
