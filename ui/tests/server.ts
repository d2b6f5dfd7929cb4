// A real server with its data in a folder of its own, and a page that must not complain.

import { test as base, expect, type Page } from '@playwright/test'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const PROGRAM = process.env.ANNEAL ?? resolve('../target/debug/anneal')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export class Server {
  base = ''
  private child: ChildProcess | undefined
  /** `patient`: everything else on the machine goes first. `environment`: variables that it has beside ours. */
  constructor(private patient = false, private environment: Record<string, string> = {}) {}

  readonly data = mkdtempSync(join(tmpdir(), 'anneal-ui-'))

  /** Starts it, at the address that it had before if it had one. */
  async start(...options: string[]) {
    const listen = this.base ? this.base.slice('http://'.length) : '127.0.0.1:0'
    const [program, ...before] = this.patient ? ['nice', '-n', '19', PROGRAM] : [PROGRAM]
    const child = spawn(program ?? PROGRAM, [...before, 'serve', '--supervised', '--listen', listen, '--log', 'warn', '--data-dir', this.data, ...options], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...this.environment } })
    this.child = child
    await new Promise<void>((ready, fail) => {
      child.once('exit', (code) => fail(new Error(`the server ended with ${code}`)))
      child.stdout?.on('data', (text: Buffer) => {
        const found = /http:\/\/[\d.]+:\d+/.exec(text.toString())
        if (found) {
          this.base = found[0]
          ready()
        }
      })
    })
  }

  /** As a power cut would; or asked to end, which ends its workers first. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL') {
    const child = this.child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.removeAllListeners('exit')
    const gone = new Promise((done) => child.once('exit', done))
    child.kill(signal)
    await gone
  }

  async remove() {
    await this.kill('SIGTERM')
    rmSync(this.data, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  async ask(path: string, body?: unknown, headers: Record<string, string> = {}) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await fetch(this.base + path, body === undefined ? { headers } : { method: 'POST', body: text, headers })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, any> // eslint-disable-line
  }

  /** Submits a short job of the built-in model. */
  async job(change: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    const spec = {
      name: 'small', model: 'builtin:arith-tiny', dataset: { train: 'builtin:arithmetic', eval: 'builtin:arithmetic' }, verifier: { type: 'numeric' },
      objective: { type: 'bolt', beta: 0.25, group_size: 4, rounds: 2 }, sampling: { max_new_tokens: 6, batch_size: 64 },
      train: { steps: 6, prompts_per_step: 8 }, eval: { every_steps: 3, samples: 2, pass_at: [1, 2], prompts: 20 }, seed: 3, ...change,
    }
    return (await this.ask('/v1/jobs', spec, headers)).id as string
  }

  async wait(id: string) {
    for (;;) {
      const job = await this.ask(`/v1/jobs/${id}/wait?timeout=60`)
      if (['succeeded', 'failed', 'cancelled'].includes(job.status)) return job
    }
  }
}

/** What a page has said that it should not have, and where else it has asked. */
export function watch(page: Page, server: Server) {
  const wrong: string[] = []
  page.on('console', (message) => {
    // A browser reports answers of 400 and more by itself; what the page makes of them is looked at where they are wanted.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text())
  })
  page.on('pageerror', (error) => wrong.push(String(error)))
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol.startsWith('http') && url.origin !== server.base) wrong.push(`asked ${url.origin}`)
  })
  return wrong
}

/** What keeps somebody from using what a page shows. */
export async function barriers(page: Page): Promise<string[]> {
  // Within the page's own policy nothing can be added to it; a debugger may.
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run: (root: Document, options: object) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe
    const result = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
    return result.violations.map(({ id, nodes }) => `${id}: ${nodes.length} × ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary.slice(0, 200)}`)
  })
}

/** What the shared worker has told a page, before the page has looked at it. */
export async function overhear(page: Page) {
  await page.addInitScript(() => {
    const told = ((window as unknown as { told: unknown[] }).told = [])
    const Native = window.SharedWorker
    window.SharedWorker = class extends Native {
      constructor(url: string | URL, options?: WorkerOptions) {
        super(url, options)
        this.port.addEventListener('message', (event) => (told as unknown[]).push(event.data))
      }
    }
  })
  type Told = { kind: string; type?: string; data?: { job?: string } }
  return () => page.evaluate(() => (window as unknown as { told: Told[] }).told)
}

export const test = base.extend<object, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = new Server()
      await server.start()
      await use(server)
      await server.remove()
    },
    { scope: 'worker' },
  ],
})
export { expect }
