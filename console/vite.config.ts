import { fileURLToPath } from "node:url";
import babel from "@rolldown/plugin-babel";
import tailwindcss from "@tailwindcss/vite";
import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react, { reactCompilerPreset } from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { pageHeaders } from "./content-policy.ts";
import { mockApi } from "./mock/plugin.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Vite's own client writes a script and styles into the page in development: only they get past the policy. */
const DEV_NONCE = "vite";
const devHeaders = {
  ...pageHeaders,
  "content-security-policy": pageHeaders["content-security-policy"]
    .replace("script-src 'self'", `script-src 'self' 'nonce-${DEV_NONCE}'`)
    .replace("style-src 'self'", `style-src 'self' 'nonce-${DEV_NONCE}'`),
};

/** Latin letters of every page: what comes after the first look makes the page be laid out again. */
const FONTS = /\/ibm-plex-(sans-latin-wght|serif-latin-500)-normal-[^/]+\.woff2$/;

/** The entry imports the application only when it has asked for the rest; the page asks for its files at once all the same. */
function preloadApp(): Plugin {
  let base = "/";
  return {
    name: "preload-app",
    configResolved: (config) => {
      base = config.base;
    },
    transformIndexHtml: {
      order: "post",
      handler: (_, { bundle = {} }) =>
        Object.values(bundle).flatMap((it) => {
          const link = (attrs: Record<string, string>) => ({
            tag: "link",
            attrs: { ...attrs, crossorigin: true, href: base + it.fileName },
            injectTo: "head" as const,
          });
          if (it.type === "chunk")
            return ["app", "react"].includes(it.name) ? [link({ rel: "modulepreload" })] : [];
          return FONTS.test(it.fileName) ? [link({ rel: "preload", as: "font", type: "font/woff2" })] : [];
        }),
    },
  };
}

export default defineConfig(({ mode, command }) => ({
  // the demo is put anywhere on a web server
  base: mode === "demo" ? "./" : "/",
  plugins: [
    tanstackRouter({
      target: "react",
      autoCodeSplitting: true,
      // what a page reads belongs to the page, not to the entry
      codeSplittingOptions: {
        defaultBehavior: [["loader", "component"], ["errorComponent"], ["notFoundComponent"]],
      },
    }),
    react(),
    // a file that the compiler cannot take fails the build
    babel({ presets: [reactCompilerPreset({ panicThreshold: "all_errors" })] }),
    tailwindcss(),
    preloadApp(),
    mode === "mock" && mockApi(),
  ],
  resolve: { alias: { "@": at("./src"), "@mock": at("./mock") } },
  ...(command === "serve" && mode !== "test" && { html: { cspNonce: DEV_NONCE } }),
  build: {
    target: "baseline-widely-available",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    sourcemap: mode !== "demo",
    rolldownOptions: {
      input: mode === "mock" ? [at("./index.html"), at("./parts.html")] : [at("./index.html")],
      output: {
        codeSplitting: {
          // what is always loaded together is one file, not fifty: with all that they import
          groups: [
            // what runs before all else must not wait for it
            { name: "first", test: /\/src\/(first\/|api\/(early|line)\.|i18n\/load\.)/, priority: 4 },
            { name: "react", test: /\/node_modules\/(react|react-dom|scheduler)\//, priority: 3 },
            { name: "app", test: /\/src\/app\/app\.tsx$/, priority: 2 },
            { name: "shell", test: /\/src\/routes\/_app\.tsx\?tsr-split=/, priority: 1 },
            // and so are the parts of lists, which most pages have
            {
              name: "parts",
              test: /\/src\/(lib\/|app\/needs-tenant|ui\/(page|table|menu|state|money|search-field|filter-links|changes|changes-said)\.)/,
              minShareCount: 3,
            },
            {
              name: "instance-parts",
              test: /\/src\/domain\/instances\/(menu|describe|open-link|run-strip|state-cell|ticking)\./,
              minShareCount: 2,
            },
          ],
        },
      },
    },
  },
  server: { headers: devHeaders, ...(mode !== "mock" && { proxy: { "/v1": "http://localhost:8080" } }) },
  preview: { headers: pageHeaders },
  test: { include: ["src/**/*.test.{ts,tsx}", "mock/**/*.test.ts"] },
}));
