// A file goes in parts, each of which is sent again where a connection breaks. What has arrived is remembered in this
// browser for as long as the server keeps it, so that the same file goes on there after a reload.

import { api, read, Refused } from './api'

const PART = 16 << 20
const MOST_TRIES = 6
const FIRST_PAUSE = 500
/** The server keeps an upload for an hour. */
const KEPT = 55 * 60_000

type Kept = { id: string; parts: string[]; begun: number }

/** What tells files apart as far as a browser says. */
export type Named = { name: string; size: number; lastModified: number }

const place = ({ name, size, lastModified }: Named) => `upload ${lastModified} ${size} ${name}`

function kept(file: Named): Kept | null {
  try {
    const found = JSON.parse(localStorage.getItem(place(file)) ?? 'null') as Kept | null
    return found && Date.now() - found.begun < KEPT ? found : null
  } catch {
    return null
  }
}

/** Which share of a file has arrived before, from 0 to 1. */
export const arrived = (file: Named) => Math.min(1, ((kept(file)?.parts.length ?? 0) * PART) / Math.max(1, file.size))

/** Sends the content of a file, from where it stopped, and answers with the id that the file has then. */
export async function send(file: Named, content: Blob, tell: (share: number) => void, stop: AbortSignal): Promise<string> {
  const begin = async (): Promise<Kept> => {
    const body = { filename: file.name, purpose: 'fine-tune', bytes: content.size, mime_type: 'application/jsonl' }
    return { id: (await read(api.POST('/v1/uploads', { body, signal: stop }))).id, parts: [], begun: Date.now() }
  }
  let state = kept(file) ?? (await begin())
  const count = Math.ceil(content.size / PART)
  for (let anew = false; state.parts.length < count; ) {
    localStorage.setItem(place(file), JSON.stringify(state))
    tell((state.parts.length * PART) / content.size)
    const from = state.parts.length * PART
    try {
      state.parts.push(await part(state.id, content.slice(from, from + PART), stop))
    } catch (problem) {
      // The server does not know the upload any more.
      if (anew || !(problem instanceof Refused) || ![404, 409].includes(problem.status)) throw problem
      anew = true
      state = await begin()
    }
  }
  localStorage.setItem(place(file), JSON.stringify(state))
  const done = await read(api.POST('/v1/uploads/{id}/complete', { params: { path: { id: state.id } }, body: { part_ids: state.parts }, signal: stop }))
  localStorage.removeItem(place(file))
  if (!done.file) throw new Error('The server says nothing of the file that it has put together.')
  return done.file.id
}

async function part(upload: string, data: Blob, stop: AbortSignal): Promise<string> {
  const form = new FormData()
  form.append('data', data, 'part')
  for (let tries = 1; ; tries++) {
    try {
      const made = api.POST('/v1/uploads/{id}/parts', { params: { path: { id: upload } }, body: form as never, bodySerializer: (body: unknown) => body as FormData, signal: stop })
      return (await read(made)).id
    } catch (problem) {
      const passes = problem instanceof Refused && (problem.status === 0 || problem.status >= 500 || problem.status === 429)
      if (stop.aborted || !passes || tries === MOST_TRIES) throw problem
      await new Promise((rest) => setTimeout(rest, FIRST_PAUSE * 2 ** (tries - 1)))
    }
  }
}

/** Lets go of what has arrived of a file. */
export function forget(file: Named) {
  const state = kept(file)
  localStorage.removeItem(place(file))
  if (state) void api.POST('/v1/uploads/{id}/cancel', { params: { path: { id: state.id } } })
}
