// Completions by the prompts that they were sampled for.

import { api, read, type Schemas } from './api'

type Rollout = Schemas['JobRollout']

/** What a row of the list shows; texts are short, however many rows there are. */
export type GroupRow = { id: string; step: number; row: number; prompt: string; spread: number; rewards: { sample: number; reward: number | null }[]; answers: string[] }

const SHOWN = 160
/** Completions that are saved at once. */
const MOST = 20_000

/** The rows with further completions, in the order in which each prompt first came. */
export function byPrompt(before: GroupRow[], rollouts: Rollout[]): GroupRow[] {
  const rows = new Map(before.map((row) => [row.id, row]))
  for (const { group, step, row, prompt, spread, sample, reward, answer } of rollouts) {
    const known = rows.get(group) ?? { id: group, step, row, prompt: prompt.slice(0, SHOWN), spread, rewards: [], answers: [] }
    const text = answer?.slice(0, 24)
    const answers = text === undefined || known.answers.length >= 4 || known.answers.includes(text) ? known.answers : [...known.answers, text]
    const rewards = [...known.rewards, { sample, reward: reward ?? null }].toSorted((a, b) => a.sample - b.sample)
    rows.set(group, { ...known, rewards, answers })
  }
  return [...rows.values()]
}

/** All completions that are asked for, or, where it is cut, the first of very many; `tell` hears how many there are so far. */
export async function everything(job: string, query: object, tell: (count: number) => void, stop: AbortSignal): Promise<{ all: Rollout[]; cut: boolean }> {
  const all: Rollout[] = []
  for (let after: string | undefined, more = true; more; ) {
    if (all.length >= MOST) return { all, cut: true }
    const list = await read(api.GET('/v1/jobs/{id}/rollouts', { params: { path: { id: job }, query: { ...query, limit: 500, after } }, signal: stop }))
    all.push(...list.data)
    tell(all.length)
    after = list.last_id ?? undefined
    more = list.has_more && after !== undefined
  }
  return { all, cut: false }
}
