// Who looks at the page. The key itself is never here: the browser has a cookie that scripts cannot read.

import type { components } from '../../../clients/typescript/src/schema'
import { anew } from './live.svelte'

export type Session = components['schemas']['Session']

type State = { is: 'unknown' | 'in' | 'out' | 'unreachable'; who: Session | null; notice: string; outdated: boolean }

export const session: State = $state({ is: 'unknown', who: null, notice: '', outdated: false })

/** Asks the server who we are. A server of another version than the one that sent the page is told of. */
export async function look() {
  try {
    const answer = await fetch('/v1/sessions/current')
    if (answer.status === 401) return lost()
    if (!answer.ok) throw new Error()
    const who = (await answer.json()) as Session
    if (session.who && session.who.version !== who.version) session.outdated = true
    session.who = who
    session.is = 'in'
  } catch {
    if (session.is === 'unknown') session.is = 'unreachable'
  }
}

/** The server knows us no longer. */
export function lost() {
  if (session.is === 'in') session.notice = 'Your session has ended, or its key was revoked.'
  session.is = 'out'
  session.who = null
}

async function begin(body: { key: string } | { link: string }): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch('/v1/sessions', { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) return ((await answer.json()) as { detail: string }).detail
  anew()
  session.notice = ''
  await look()
  return ''
}

/** Signs in with a key; says what is wrong with it. */
export const signIn = (key: string) => begin({ key })

export async function signOut() {
  const answer = await fetch('/v1/sessions/current', { method: 'DELETE' }).catch(() => null)
  if (!answer?.ok && answer?.status !== 401) return alert('The server did not answer; you are still signed in.')
  // Names of files that were on their way are nobody else's business.
  Object.keys(localStorage).filter((key) => key.startsWith('upload ')).forEach((key) => localStorage.removeItem(key))
  anew()
  lost()
  session.notice = ''
}

/** Where the page begins: a link that signs in has its code behind `#`, which is taken out of the address at once. */
export async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get('link')
  if (code) {
    history.replaceState(null, '', location.pathname + location.search)
    await look()
    // A link that somebody else has sent must not put what is done here into another project unnoticed.
    const who = session.who?.key ? `${session.who.name} in ${session.who.project}` : ''
    if (!who || confirm(`You are signed in as ${who}. Sign in as whoever made this link instead?`)) {
      const wrong = await begin({ link: code }).catch(() => 'The server does not answer.')
      if (wrong) session.notice = wrong
      else if (who) return location.reload()
    }
  }
  if (session.is !== 'in') await look()
}

export const may = (scope: string) => session.who?.scopes.includes(scope) ?? false
