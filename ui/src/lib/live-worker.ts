// One connection to the server's events for all tabs of a browser, of which a server admits only a few at once. It runs as
// a shared worker, or in the page where there are none.

export type Message =
  | { kind: 'open' }
  | { kind: 'closed' }
  // Events may be missing: what was read before must be read again.
  | { kind: 'gap' }
  | { kind: 'event'; type: string; data: unknown }

const TYPES = ['status', 'phase', 'progress', 'metrics', 'evaluation', 'checkpoint', 'rollout_set', 'log', 'devices', 'queue']
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 4000

/** Keeps a connection open, and tells of all that comes. The newest state of views is told to whoever asks. */
export function connect(tell: (message: Message) => void) {
  let last = ''
  let broken = false
  let pause = FIRST_PAUSE
  let open = false
  const views = new Map<string, Message>()

  const begin = () => {
    const after = last || 'latest'
    const source = new EventSource(`/v1/events?stream=true&views=devices,queue&after=${encodeURIComponent(after)}`)
    source.onopen = () => {
      pause = FIRST_PAUSE
      open = true
      // Without an event there is nothing to go on behind.
      if (broken && !last) tell({ kind: 'gap' })
      broken = false
      tell({ kind: 'open' })
    }
    source.onerror = () => {
      open = false
      broken = true
      tell({ kind: 'closed' })
      source.close()
      setTimeout(begin, pause)
      pause = Math.min(2 * pause, LONGEST_PAUSE)
    }
    for (const type of TYPES) {
      source.addEventListener(type, (event: MessageEvent<string>) => {
        if (event.lastEventId) last = event.lastEventId
        const message: Message = { kind: 'event', type, data: JSON.parse(event.data) }
        if (type === 'devices' || type === 'queue') views.set(type, message)
        tell(message)
      })
    }
  }
  begin()
  return { state: (): Message[] => [...(open ? [{ kind: 'open' } as Message] : []), ...views.values()] }
}

type Shared = { onconnect: ((event: MessageEvent) => void) | null }

if (typeof document === 'undefined') {
  const ports = new Set<MessagePort>()
  const connection = connect((message) => ports.forEach((port) => port.postMessage(message)))
  ;(globalThis as unknown as Shared).onconnect = (event) => {
    const port = event.ports[0]
    if (!port) return
    ports.add(port)
    // A tab says when it goes.
    port.onmessage = () => ports.delete(port)
    connection.state().forEach((message) => port.postMessage(message))
  }
}
