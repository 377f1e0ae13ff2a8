import { expect, type Page } from "@playwright/test";

/** Of a real platform, freshly started: its address and people come from the environment. */
export const administrator = {
  email: process.env.ADMIN_EMAIL ?? "admin@atelier.test",
  password: process.env.ADMIN_PASSWORD ?? "",
};
export const designer = {
  email: process.env.DESIGNER_EMAIL ?? "designer@atelier.test",
  password: process.env.DESIGNER_PASSWORD ?? "",
};

/** In the names of what a run makes. */
export const run = Date.now().toString(36);

export async function signIn(page: Page, { email, password }: { email: string; password: string }) {
  await page.goto("/sign-in");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(
    page.getByRole("heading", { level: 1, name: /Members|Invitations|Overview|Instances|Platform/ }),
  ).toBeVisible();
}

/** A write from the page itself, with its cookie. */
export const post = (page: Page, path: string, body: object) =>
  page.evaluate(
    async ([path, body]) => {
      const answer = await fetch(path, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": crypto.randomUUID() },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
      return answer.json();
    },
    [path, body] as const,
  );

/** What the page may read, with its cookie. */
export const read = (page: Page, path: string) =>
  page.evaluate(async (path) => (await fetch(path)).json(), path);
