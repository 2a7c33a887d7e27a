/** How the page is built: into files that any server may hand out, without an inline script or style. */
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  // Works below any path that a proxy in front of it may add.
  base: './',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: false,
    emptyOutDir: true,
    reportCompressedSize: false,
  },
});
