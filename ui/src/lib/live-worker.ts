// One connection to the server's events for all tabs of a browser, of which a server admits only a few at once. It runs as
// a shared worker, or in the page where there are none.

export type Message =
  | { kind: 'open' }
  | { kind: 'closed' }
  // Events may be missing: what was read before must be read again.
  | { kind: 'gap' }
  // Somebody else may be signed in: what was heard before is not theirs.
  | { kind: 'anew' }
  // To the page that said `anew` itself: what comes from here on was heard afterwards.
  | { kind: 'answered' }
  | { kind: 'event'; type: string; data: unknown }

const TYPES = ['status', 'phase', 'progress', 'metrics', 'evaluation', 'checkpoint', 'rollout_set', 'log', 'devices', 'queue']
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 4000
/** How long a page waits for the connection before it reads what there is. */
export const PATIENCE = 1500
/** How often it is tried where nobody is signed in; whoever signs in says so. */
const IDLE_PAUSE = 30_000
/** Attempts in a row after which a server that answers otherwise is taken not to know our place in its log. */
const MOST_FAILURES = 3

/** Keeps a connection open, and tells of all that comes. The newest state of views is told to whoever asks. */
export function connect(tell: (message: Message) => void) {
  let last = ''
  let broken = false
  let failures = 0
  let pause = FIRST_PAUSE
  let open = false
  const begun = Date.now()
  let idle = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let source: EventSource | undefined
  let turn = 0
  const views = new Map<string, Message>()

  const begin = async () => {
    const mine = ++turn
    idle = false
    if (broken) {
      const status = await fetch('/v1/sessions/current').then((answer) => answer.status, () => 0)
      if (mine !== turn) return
      if (status === 401) {
        idle = true
        return void (timer = setTimeout(begin, IDLE_PAUSE))
      }
      if (status === 200 && ++failures > MOST_FAILURES) last = ''
    }
    listen(last || 'latest')
  }
  const listen = (after: string) => {
    const stream = new EventSource(`/v1/events?stream=true&views=devices,queue&after=${encodeURIComponent(after)}`)
    source = stream
    stream.onopen = () => {
      pause = FIRST_PAUSE
      failures = 0
      open = true
      // Without an event there is nothing to go on behind; and who has waited for too long has read without us.
      if (!last && (broken || Date.now() - begun > PATIENCE)) tell({ kind: 'gap' })
      broken = false
      tell({ kind: 'open' })
    }
    stream.onerror = () => {
      open = false
      broken = true
      tell({ kind: 'closed' })
      stream.close()
      timer = setTimeout(begin, pause)
      pause = Math.min(2 * pause, LONGEST_PAUSE)
    }
    for (const type of TYPES) {
      stream.addEventListener(type, (event: MessageEvent<string>) => {
        if (event.lastEventId) last = event.lastEventId
        const message: Message = { kind: 'event', type, data: JSON.parse(event.data) }
        if (type === 'devices' || type === 'queue') views.set(type, message)
        tell(message)
      })
    }
  }
  /** Whoever is signed in now, the place in the log and the views of before mean nothing to them. */
  const anew = () => {
    clearTimeout(timer)
    source?.close()
    open = false
    broken = true
    last = ''
    failures = 0
    pause = FIRST_PAUSE
    views.clear()
    tell({ kind: 'anew' })
    void begin()
  }
  void begin()
  return {
    state: (): Message[] => [...(open ? [{ kind: 'open' } as Message] : []), ...views.values()],
    anew,
    /** A page has been opened, maybe because somebody has signed in. */
    wake: () => idle && anew(),
  }
}

type Shared = { onconnect: ((event: MessageEvent) => void) | null }

if (typeof document === 'undefined') {
  const ports = new Set<MessagePort>()
  const connection = connect((message) => ports.forEach((port) => port.postMessage(message)))
  ;(globalThis as unknown as Shared).onconnect = (event) => {
    const port = event.ports[0]
    if (!port) return
    ports.add(port)
    connection.wake()
    // A tab says when it goes, and when somebody has signed in or out.
    port.onmessage = (message: MessageEvent<'bye' | 'anew'>) => {
      if (message.data === 'bye') return void ports.delete(port)
      connection.anew()
      port.postMessage({ kind: 'answered' } satisfies Message)
    }
    connection.state().forEach((message) => port.postMessage(message))
  }
}
