import { test as base, expect, type Locator, type Page, type Request } from "@playwright/test";
import type { Provocation } from "../mock/backend";
import { ahead, moveClock } from "./clock";

export type Person = "mira" | "tomas" | "ines" | "jonas" | "lena" | "mara";

const mails: Record<Person, string> = {
  mira: "mira@northlight.studio",
  tomas: "tomas@northlight.studio",
  ines: "ines@northlight.studio",
  jonas: "jonas@northlight.studio",
  lena: "lena@brandt.example",
  mara: "mara@atelier.example",
};

export interface Look {
  theme?: "light" | "dark";
  language?: "en" | "zh-CN";
}

interface Fixtures {
  /** The statuses that this test provokes, 0 for a cut line: the browser writes them into its console. */
  expected: number[];
  /** Fails the test for anything else in the console, and for what the content policy refused. */
  faults: string[];
  as: (person: Person) => Promise<void>;
  looks: (look: Look) => Promise<void>;
  provoke: (provocation: Provocation) => Promise<void>;
  /** Waits until all that the page has asked for is there and shown, but for streams. */
  settled: () => Promise<void>;
}

/** Each run has backends of its own, also on a server that runs on. */
const RUN = Date.now();

export const test = base.extend<Fixtures>({
  expected: [[], { option: true }],
  faults: [
    async ({ page, context, expected, baseURL }, use, { testId }) => {
      const faults: string[] = [];
      await context.addCookies([{ name: "backend", value: `${testId}-${RUN}`, url: baseURL ?? "" }]);
      page.on("console", (message) => {
        if (message.type() !== "error" && message.type() !== "warning") return;
        const status = /responded with a status of (\d+)/.exec(message.text())?.[1];
        const isCut = message.text().includes("net::ERR_") && expected.includes(0);
        if (!isCut && !(status && expected.includes(Number(status)))) faults.push(message.text());
      });
      page.on("pageerror", (error) => faults.push(String(error)));
      if (ahead) await context.addInitScript(moveClock, ahead);
      await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) =>
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
        );
      });
      await use(faults);
      expect(faults).toEqual([]);
    },
    { auto: true },
  ],
  as: async ({ page }, use) => {
    await use(async (person) => {
      const answer = await page.request.post("/v1/sessions", {
        data: {
          email: mails[person],
          password: "northlight",
          cookie: true,
          ...(person === "tomas" && { totp: "123456" }),
        },
      });
      expect(answer.ok()).toBe(true);
    });
  },
  looks: async ({ page }, use) => {
    await use(async ({ theme = "light", language = "en" }) => {
      await page.addInitScript(
        ([theme, language]) => {
          localStorage.setItem("theme", theme);
          localStorage.setItem("language", language);
        },
        [theme, language] as const,
      );
    });
  },
  provoke: async ({ page }, use) => {
    await use(async (provocation) => {
      await page.request.post("/mock/provoke", { data: provocation });
    });
  },
  settled: async ({ page }, use) => {
    const open = new Set<Request>();
    page.on("request", (request) => {
      // what the page before had asked for is not told about any more
      if (request.isNavigationRequest()) open.clear();
      if (request.headers().accept !== "text/event-stream") open.add(request);
    });
    page.on("requestfinished", (request) => open.delete(request));
    page.on("requestfailed", (request) => open.delete(request));
    await use(async () => {
      const shown = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
      await expect.poll(() => shown().then(() => open.size), { intervals: [50] }).toBe(0);
    });
  },
});

export { accessible } from "./axe";
export { expect };

/** A passkey device that confirms every request at once. */
export async function addAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { devtools, authenticatorId };
}

/** One of a few choices side by side: their boxes are not seen, their labels are. */
export const choose = (within: Page | Locator, name: string) =>
  within.getByRole("radiogroup").getByText(name, { exact: true }).click();

/** Nothing is wider than the window, once charts have followed its size. */
export async function fits(page: Page) {
  const overflow = () =>
    page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
  await expect.poll(overflow).toBe(0);
}
