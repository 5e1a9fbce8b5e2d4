import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** `page.md?title` is its first heading, so that the list of the documentation needs none of its texts. */
const docsTitles: Plugin = {
  name: "docs-titles",
  enforce: "pre",
  transform(text, id) {
    if (!id.endsWith(".md?title")) return null;
    return `export default ${JSON.stringify((/^# (.*)$/m.exec(text)?.[1] ?? "").replaceAll("`", ""))}`;
  },
};

// The server serves what is built here, from inside its own package.
export default defineConfig({
  base: "/page/",
  plugins: [docsTitles, svelte(), svelteTesting()],
  build: {
    outDir: "../src/lochan/server/page/files",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy allows no inline data but pictures
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: true,
  },
  server: { fs: { allow: [".", "../docs"] }, proxy: { "/api": "http://127.0.0.1:8001", "/openapi.json": "http://127.0.0.1:8001" } },
  test: { environment: "jsdom", include: ["src/**/*.test.ts"] },
});
