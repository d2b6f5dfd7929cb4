// Which view an address shows. The server serves the page at the same addresses (`src/api/page.rs`).

import type { Component } from 'svelte'

// Views that need no part of their address take no notice of it.
type Module = { default: Component<{ id: string; tab: string }> | Component }
type Route = { path: string; title: string; load: () => Promise<Module> }

// `:id` and `:tab` are handed to the view.
const ROUTES: Route[] = [
  { path: '/', title: 'Jobs', load: () => import('../views/Jobs.svelte') },
  { path: '/jobs', title: 'Jobs', load: () => import('../views/Jobs.svelte') },
  { path: '/jobs/:id', title: 'Job', load: () => import('../views/Job.svelte') },
  { path: '/jobs/:id/:tab', title: 'Job', load: () => import('../views/Job.svelte') },
  { path: '/new', title: 'New job', load: () => import('../views/NewJob.svelte') },
  { path: '/compare', title: 'Compare jobs', load: () => import('../views/Compare.svelte') },
  { path: '/frontier', title: 'Frontier', load: () => import('../views/Frontier.svelte') },
  { path: '/verifiers', title: 'Verifiers', load: () => import('../views/Verifiers.svelte') },
  { path: '/data', title: 'Data', load: () => import('../views/Data.svelte') },
  { path: '/models', title: 'Models', load: () => import('../views/Models.svelte') },
  { path: '/playground', title: 'Playground', load: () => import('../views/Playground.svelte') },
  { path: '/evaluations', title: 'Evaluations', load: () => import('../views/Evaluations.svelte') },
  { path: '/sweeps', title: 'Sweeps', load: () => import('../views/Sweeps.svelte') },
  { path: '/operate', title: 'Operate', load: () => import('../views/Operate.svelte') },
  { path: '/help', title: 'Help', load: () => import('../views/Help.svelte') },
]

export type Match = { route: Route; id: string; tab: string }

export function match(path: string): Match | null {
  let parts: string[]
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent)
  } catch {
    return null
  }
  for (const route of ROUTES) {
    const names = route.path.split('/').filter(Boolean)
    if (names.length !== parts.length) continue
    const found = { id: '', tab: '' }
    const fits = names.every((name, i) => {
      if (!name.startsWith(':')) return name === parts[i]
      found[name.slice(1) as 'id' | 'tab'] = parts[i] ?? ''
      return true
    })
    if (fits) return { route, ...found }
  }
  return null
}
