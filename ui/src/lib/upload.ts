// A file goes in parts, each of which is sent again where a connection breaks. What has arrived is remembered in this
// browser for as long as the server keeps it, so that the same file goes on there after a reload.

import { api, read, Refused } from './api'
import { session } from './session.svelte'

const PART = 16 << 20
const MOST_TRIES = 6
const FIRST_PAUSE = 500
/** The server keeps an upload for an hour. */
const KEPT = 55 * 60_000

/** Parts that have arrived, and the file that they have become when all have. */
type Kept = { id: string; parts: string[]; begun: number; file?: string }

/** What tells files apart as far as a browser says. */
export type Named = { name: string; size: number; lastModified: number }

const mine = () => `upload ${session.who?.project ?? ''} `
const place = ({ name, size, lastModified }: Named) => `${mine()}${lastModified} ${size} ${name}`

function at(key: string): Kept | null {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? 'null') as Kept | null
    if (found && Date.now() - found.begun < KEPT) return found
  } catch {
    // What cannot be read is not known.
  }
  localStorage.removeItem(key)
  return null
}
const remember = (file: Named, state: Kept) => localStorage.setItem(place(file), JSON.stringify(state))

/** Which share of a file has arrived before, from 0 to 1. What the server keeps no longer is forgotten. */
export function arrived(file: Named): number {
  Object.keys(localStorage).filter((key) => key.startsWith('upload ')).forEach(at)
  return Math.min(1, ((at(place(file))?.parts.length ?? 0) * PART) / Math.max(1, file.size))
}

/** Sends the content of a file, from where it stopped, and answers with the id that the file has then. */
export async function send(file: Named, content: Blob, tell: (share: number) => void, stop: AbortSignal): Promise<string> {
  const begin = async (): Promise<Kept> => {
    // A file of which nothing is made goes by itself.
    const expires_after = { anchor: 'created_at' as const, seconds: 3600 }
    const body = { filename: file.name, purpose: 'fine-tune', bytes: content.size, mime_type: 'application/jsonl', expires_after }
    return { id: (await read(api.POST('/v1/uploads', { body, signal: stop }))).id, parts: [], begun: Date.now() }
  }
  const count = Math.ceil(content.size / PART)
  let state = at(place(file)) ?? (await begin())
  for (let anew = false; !state.file; ) {
    remember(file, state)
    tell(Math.min(1, (state.parts.length * PART) / Math.max(1, content.size)))
    const from = state.parts.length * PART
    try {
      if (state.parts.length < count) state.parts.push(await part(state.id, content.slice(from, from + PART), stop))
      else state.file = await complete(state, stop)
    } catch (problem) {
      // The server does not know the upload any more.
      if (anew || !(problem instanceof Refused) || ![404, 409].includes(problem.status)) throw problem
      anew = true
      state = await begin()
    }
  }
  remember(file, state)
  return state.file
}

function part(upload: string, data: Blob, stop: AbortSignal): Promise<string> {
  const form = new FormData()
  form.append('data', data, 'part')
  const body = { body: form as never, bodySerializer: (body: unknown) => body as FormData, signal: stop }
  return patiently(async () => (await read(api.POST('/v1/uploads/{id}/parts', { params: { path: { id: upload } }, ...body }))).id, stop)
}

/** Puts the parts together, once however often it is asked for. */
function complete({ id, parts }: Kept, stop: AbortSignal): Promise<string> {
  const options = { params: { path: { id } }, body: { part_ids: parts }, headers: { 'Idempotency-Key': `complete-${id}` }, signal: stop }
  return patiently(async () => {
    const done = await read(api.POST('/v1/uploads/{id}/complete', options))
    if (!done.file) throw new Error('The server says nothing of the file that it has put together.')
    return done.file.id
  }, stop)
}

/** Asks again where an answer was lost or is not ready. */
async function patiently<T>(ask: () => Promise<T>, stop: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (problem) {
      const passes = problem instanceof Refused && (problem.status === 0 || problem.status >= 500 || problem.status === 429 || problem.code === 'request_in_progress')
      if (stop.aborted || !passes || tries === MOST_TRIES) throw problem
      await rest(FIRST_PAUSE * 2 ** (tries - 1), stop)
    }
  }
}

const rest = (time: number, stop: AbortSignal) => new Promise<void>((done) => {
  const timer = setTimeout(done, time)
  stop.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
})

/** Lets go of what has arrived of a file. */
export async function forget(file: Named) {
  const state = at(place(file))
  localStorage.removeItem(place(file))
  if (!state) return
  const [uploads, files] = [{ params: { path: { id: state.id } } }, { params: { path: { id: state.file ?? '' } } }]
  // What the server still has when this fails, it removes by itself.
  await (state.file ? api.DELETE('/v1/files/{id}', files) : api.POST('/v1/uploads/{id}/cancel', uploads)).catch(() => {})
}
