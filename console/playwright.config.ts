import { fileURLToPath } from "node:url";
import { defineConfig } from "@playwright/test";
import { ahead } from "./e2e/clock.ts";

const PORT = Number(process.env.PORT ?? 4178);
/** Of a real platform, for the stories. */
const url = process.env.CONSOLE_URL;

export default defineConfig({
  testDir: "e2e",
  testMatch:
    process.env.PICTURES === "product"
      ? "product.ts"
      : process.env.PICTURES
        ? "pictures.ts"
        : url
          ? "stories/*.ts"
          : "*.spec.ts",
  fullyParallel: true,
  workers: 2,
  forbidOnly: Boolean(process.env.CI),
  // a busy machine is late now and then
  retries: process.env.CI ? 1 : 0,
  reporter: [["list"]],
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    // the session's cookie is kept on localhost only
    baseURL: url ?? `http://localhost:${PORT}`,
    viewport: { width: 1360, height: 860 },
    // a fifth of the time; `--trace on` where it is wanted
    trace: "on-first-retry",
    // axe judges what is shown, and not what is on its way in
    contextOptions: { reducedMotion: "reduce" },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  ...(!url && {
    webServer: {
      command: `vite build --mode mock --outDir mock-dist && vite preview --mode mock --outDir mock-dist --port ${PORT} --strictPort`,
      url: `http://localhost:${PORT}/`,
      reuseExistingServer: !process.env.CI && !ahead,
      ...(ahead && {
        env: { NODE_OPTIONS: `--import ${fileURLToPath(new URL("./e2e/clock.ts", import.meta.url))}` },
      }),
      timeout: 120_000,
    },
  }),
});
