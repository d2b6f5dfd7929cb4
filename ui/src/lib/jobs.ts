// What is said of jobs in more than one place.

import type { Schemas } from './api'
import { duration, percent } from './format'

export type Job = Schemas['Job']
type Rate = { k: number; mean: number; half_width: number }
type Result = {
  checkpoint?: string
  weights_sha256?: string
  before?: { pass_at?: Rate[] }
  after?: { pass_at?: Rate[] }
  gate?: { passed: boolean; checks?: { name: string; required: number; measured: number; passed: boolean }[] }
  verify_resume?: { identical: boolean }
}

export const result = (job: Job) => (job.result ?? {}) as Result
export const ENDED = ['succeeded', 'failed', 'cancelled']
export const ended = (job: Job) => ENDED.includes(job.status)

const rate = (pass: Rate) => `${percent(pass.mean)} ± ${(100 * pass.half_width).toFixed(1)}`

/** The held-out pass rate before and after, or what there is of it. */
export function gain(job: Job): string {
  const [before, after] = [result(job).before?.pass_at?.[0], result(job).after?.pass_at?.[0]]
  if (!after) return ''
  return before ? `${rate(before)} → ${rate(after)}` : rate(after)
}

/** How a job stands, in one sentence. */
export function verdict(job: Job): string {
  const failure = job.failure as { code: string; message: string } | null
  if (failure) return `It failed (${failure.code}): ${failure.message}`
  if (job.waiting) return `It waits: ${job.waiting.message}`
  const { before, after, gate, verify_resume } = result(job)
  if (verify_resume) return verify_resume.identical ? 'Repeated from its checkpoint, the job ended with the same bits.' : 'Repeated from its checkpoint, the job ended with other bits.'
  const [b, a] = [before?.pass_at?.[0], after?.pass_at?.[0]]
  if (a && b) {
    const change = a.mean - b.mean
    const clear = Math.abs(change) > Math.hypot(a.half_width, b.half_width)
    const size = `${(100 * change).toFixed(1)} points`
    const words = !clear ? 'No clear change' : change > 0 ? 'It learned' : 'It got worse'
    const judged = gate ? ` The gate is ${gate.passed ? 'passed' : 'not passed'}.` : ''
    return `${words}: pass@1 on held-out rows went from ${percent(b.mean)} to ${percent(a.mean)} (${change > 0 ? '+' : ''}${size}).${judged}`
  }
  if (job.status === 'succeeded') return 'It succeeded; it had nothing to be evaluated on.'
  if (job.status === 'cancelled') return `It was cancelled after ${job.step} of ${job.steps} steps.`
  if (job.status === 'paused') return `It is paused after ${job.step} of ${job.steps} steps.`
  return `${job.step} of ${job.steps} steps are taken.${forecast(job) ? ` ${forecast(job)}` : ''}`
}

/** When a job that runs will be ready. */
export function forecast(job: Job): string {
  const end = job.progress?.expected_end
  if (!end || ended(job)) return ''
  const left = (time: number) => duration(time - Date.now() / 1000)
  return end.p90 ? `About ${left(end.p50)} are left, at most ${left(end.p90)} with 90 % probability.` : `About ${left(end.p50)} are left.`
}
