import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

// The server serves what is built here, from inside its own package.
export default defineConfig({
  base: "/page/",
  plugins: [svelte(), svelteTesting()],
  build: {
    outDir: "../src/lochan/server/page/files",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy allows no inline data but pictures
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8001", "/openapi.json": "http://127.0.0.1:8001" } },
  test: { environment: "jsdom", include: ["src/**/*.test.ts"] },
});
