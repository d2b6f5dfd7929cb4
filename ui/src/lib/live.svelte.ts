// What happens on the server, as it happens.

import type { Schemas } from './api'
import { connect, PATIENCE, type Message } from './live-worker'
import { look } from './session.svelte'

export type JobEvent = { id: string; job: string; seq: number; type: string; created_at: number; data: Record<string, unknown> }

type Live = { connected: boolean; devices: Schemas['Device'][]; queue: Schemas['Queue'] | null; gaps: number }

/** The newest state of what has no log, and whether we hear of changes. */
export const live: Live = $state({ connected: false, devices: [], queue: null, gaps: 0 })

const listeners = new Set<(event: JobEvent) => void>()
let waiting: (() => void)[] = []
let begun = false
/** How often we said that somebody signed in or out and were not answered yet; what comes before is of the earlier one. */
let unanswered = 0

/** What was heard was for somebody else. */
function forget() {
  live.connected = false
  live.devices = []
  live.queue = null
}

function hear(message: Message) {
  if (message.kind === 'answered') unanswered -= 1
  else if (unanswered) return
  else if (message.kind === 'anew') {
    forget()
    void look()
  } else if (message.kind === 'open') {
    if (!live.connected && begun) void look()
    begun = true
    live.connected = true
    waiting.forEach((ready) => ready())
    waiting = []
  } else if (message.kind === 'closed') {
    if (live.connected) void look()
    live.connected = false
  } else if (message.kind === 'gap') {
    live.gaps += 1
  } else if (message.type === 'devices') {
    live.devices = (message.data as { data: Schemas['Device'][] }).data
  } else if (message.type === 'queue') {
    live.queue = message.data as Schemas['Queue']
  } else {
    listeners.forEach((listener) => listener(message.data as JobEvent))
  }
}

let say: ((word: 'anew') => void) | null = null

/** Begins to listen, if that was not said before. */
export function start() {
  if (say) return
  if (typeof SharedWorker === 'undefined') {
    const connection = connect(hear)
    say = () => {
      connection.anew()
      hear({ kind: 'answered' })
    }
    return
  }
  const worker = new SharedWorker(new URL('./live-worker.ts', import.meta.url), { type: 'module', name: 'anneal-live' })
  worker.port.onmessage = (event: MessageEvent<Message>) => hear(event.data)
  say = (word) => worker.port.postMessage(word)
  addEventListener('pagehide', () => worker.port.postMessage('bye'))
  addEventListener('pageshow', (event) => event.persisted && location.reload())
}

/** Somebody has signed in or out: the connection is another's from now on, in all tabs. */
export function anew() {
  start()
  unanswered += 1
  forget()
  say?.('anew')
}

/** Calls `listener` for each event of a job; the answer ends it. */
export function listen(listener: (event: JobEvent) => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Ready when events are heard, or after a moment without: what is read from then on misses none of them. */
export function hearing(): Promise<void> {
  if (live.connected) return Promise.resolve()
  return Promise.race([new Promise<void>((ready) => waiting.push(ready)), new Promise<void>((ready) => setTimeout(ready, PATIENCE))])
}
