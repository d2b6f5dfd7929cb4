// The metrics of jobs: what was measured so far, and each step as it is taken, without a gap or a repeat.

import { api, read } from './api'
import { hearing, listen, live, type JobEvent } from './live.svelte'

/** One metric of one job. Where points stand for several steps, `values` are means. */
export type Line = { steps: number[]; values: number[]; min?: number[]; max?: number[] }

/** What is shown is changed at most so often. */
const PAUSE = 250
/** Steps that are added before the whole is read again, with points that stand for more steps each. */
const MOST_ADDED = 1000
/** A job that goes back to a checkpoint takes steps again; they are read again after this time. */
const AGAIN = 1000
/** What could not be read is tried again after this time. */
const RETRY = 3000

export class Series {
  /** By job, then by metric. */
  lines: Map<string, Map<string, Line>> = $state.raw(new Map())
  loading = $state(true)
  error: unknown = $state(null)

  private range: [number, number] | null = null
  private seen = new Map<string, number>()
  private heard: JobEvent[] = []
  private added = 0
  private turn = 0
  /** While the whole is read, what is heard waits. */
  private reading = false
  private again: ReturnType<typeof setTimeout> | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private ends: (() => void)[] = []

  constructor(
    readonly jobs: string[],
    readonly keys: string[],
    readonly points: number,
  ) {
    this.ends.push(listen((event) => this.hear(event)))
    const shown = () => document.hidden || this.later(0)
    document.addEventListener('visibilitychange', shown)
    this.ends.push(() => document.removeEventListener('visibilitychange', shown))
    let gaps = live.gaps
    this.ends.push($effect.root(() => {
      $effect(() => {
        if (live.gaps !== gaps) void this.load()
        gaps = live.gaps
      })
    }))
    void this.load()
  }

  /** Shows some steps only, more closely; all with null. */
  zoom(range: [number, number] | null) {
    this.range = range
    void this.load()
  }

  end() {
    clearTimeout(this.timer)
    clearTimeout(this.again)
    this.turn += 1
    this.ends.forEach((end) => end())
  }

  private async load() {
    const turn = ++this.turn
    this.reading = true
    clearTimeout(this.again)
    this.again = undefined
    try {
      await hearing()
      const [from_step, to_step] = this.range ?? []
      const query = { jobs: this.jobs.join(','), keys: this.keys.join(','), points: this.points, digits: 6, from_step, to_step }
      const tables = await read(api.GET('/v1/metrics', { params: { query } }))
      if (turn !== this.turn) return
      const lines = new Map<string, Map<string, Line>>()
      for (const job of tables.jobs) {
        const metrics = new Map<string, Line>()
        for (const { steps, columns } of job.tables) {
          for (const { name, values, min, max } of columns) {
            metrics.set(name, { steps: [...steps], values, min: min ?? undefined, max: max ?? undefined })
          }
        }
        lines.set(job.job, metrics)
        this.seen.set(job.job, job.last_seq)
      }
      this.lines = lines
      this.added = 0
      this.error = null
      this.loading = false
      this.reading = false
      this.add()
    } catch (error) {
      if (turn !== this.turn) return
      this.error = error
      this.loading = false
      this.reading = false
      this.laterAgain(RETRY)
    }
  }

  private hear(event: JobEvent) {
    if (event.type !== 'metrics' || !this.jobs.includes(event.job)) return
    this.heard.push(event)
    // Nothing is drawn while nobody looks, and what was missed is read at once afterwards.
    if (this.heard.length > 2 * MOST_ADDED) this.heard.splice(0, MOST_ADDED)
    if (!document.hidden) this.later(PAUSE)
  }

  private later(pause: number) {
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      if (this.reading || !this.heard.length) return
      if (this.heard.length >= MOST_ADDED || this.added >= MOST_ADDED) void this.load()
      else this.add()
    }, pause)
  }

  private add() {
    const heard = this.heard
    this.heard = []
    if (!heard.length) return
    let again = false
    const touched = new Map(this.lines)
    for (const event of heard) {
      if (event.seq <= (this.seen.get(event.job) ?? 0)) continue
      this.seen.set(event.job, event.seq)
      const { step, values } = event.data as { step: number; values: Record<string, number | null> }
      if (this.range && (step < this.range[0] || step > this.range[1])) continue
      const metrics = new Map(touched.get(event.job))
      for (const [name, value] of Object.entries(values)) {
        if (value === null || (this.keys.length && !this.keys.includes(name))) continue
        const line = metrics.get(name) ?? { steps: [], values: [] }
        if (step <= (line.steps.at(-1) ?? -1)) {
          again = true
          continue
        }
        line.steps.push(step)
        line.values.push(value)
        line.min?.push(value)
        line.max?.push(value)
        metrics.set(name, { ...line })
      }
      touched.set(event.job, metrics)
      this.added += 1
    }
    this.lines = touched
    if (again) this.laterAgain(AGAIN)
  }

  private laterAgain(pause: number) {
    this.again ??= setTimeout(() => this.load(), pause)
  }
}

/** An exponential mean of what came before; `share` of each value is that of the past, 0 to 1. */
export function smooth(values: number[], share: number): number[] {
  let mean: number | undefined
  return values.map((value) => (mean = mean === undefined ? value : share * mean + (1 - share) * value))
}

/** What a line says, in words. */
export function sentence(line: Line, words: (value: number) => string): string {
  const last = line.values.at(-1)
  if (last === undefined) return 'nothing yet'
  let [least, most] = [Infinity, -Infinity]
  for (const value of line.min ?? line.values) least = Math.min(least, value)
  for (const value of line.max ?? line.values) most = Math.max(most, value)
  return `${words(last)} at step ${line.steps.at(-1)}; between ${words(least)} and ${words(most)}`
}
