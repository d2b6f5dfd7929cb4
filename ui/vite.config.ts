import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// `npm run dev` shows the page with a server that runs elsewhere.
const server = process.env.ANNEAL_SERVER ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [svelte()],
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  worker: { format: 'es' },
  server: { proxy: { '/v1': server, '/docs': server, '/openapi.json': server } },
})
