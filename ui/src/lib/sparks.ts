// The course of each job of a list, as far as it can be seen.

import { api, read, Refused } from './api'
import type { Job } from './jobs'
import type { Line } from './series.svelte'

/** What the server draws at once. */
const MOST = 8
const POINTS = 30
/** The first that a job measures is shown. */
const KEYS = ['reward/mean', 'loss']
/** A list that is scrolled is asked for once it rests. */
const REST = 200
/** A job that runs is asked for again after this time. */
const AGAIN = 4000

export type Spark = { key: string; line: Line }

/** Tells of the lines of the jobs in sight, and of those that have taken steps since. */
export class Sparks {
  private seen: Job[] = []
  private asked = new Map<string, { step: number; at: number }>()
  private busy = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private every = setInterval(() => document.hidden || void this.load(), AGAIN)

  constructor(private tell: (sparks: Map<string, Spark>) => void) {}

  show(jobs: Job[]) {
    this.seen = jobs
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.load(), REST)
  }

  end() {
    clearTimeout(this.timer)
    clearInterval(this.every)
  }

  private async load() {
    if (this.busy) return
    const now = Date.now()
    const wanted = this.seen.filter(({ id, kind, step }) => {
      const before = this.asked.get(id)
      return kind === 'train' && step > 0 && before?.step !== step && now - (before?.at ?? 0) >= AGAIN
    })
    wanted.forEach(({ id, step }) => this.asked.set(id, { step, at: now }))
    this.busy = true
    for (let i = 0; i < wanted.length; i += MOST) await this.ask(wanted.slice(i, i + MOST).map(({ id }) => id))
    this.busy = false
  }

  private async ask(ids: string[]) {
    try {
      const query = { jobs: ids.join(','), keys: KEYS.join(','), points: POINTS, digits: 4 }
      const { jobs } = await read(api.GET('/v1/metrics', { params: { query } }))
      this.tell(new Map(jobs.flatMap(({ job, tables }) => {
        const lines = tables.flatMap(({ steps, columns }) => columns.map(({ name, values }) => ({ key: name, line: { steps, values } })))
        const found = KEYS.flatMap((key) => lines.filter((line) => line.key === key))[0]
        return found ? [[job, found] as const] : []
      })))
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) ids.forEach((id) => this.asked.delete(id))
      // One that was deleted keeps nobody else's line away.
      else if (ids.length > 1) for (const id of ids) await this.ask([id])
    }
  }
}
