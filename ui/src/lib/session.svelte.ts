// Who looks at the page. The key itself is never here: the browser has a cookie that scripts cannot read.

import type { components } from '../../../clients/typescript/src/schema'

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
  session.notice = ''
  await look()
  return ''
}

/** Signs in with a key; says what is wrong with it. */
export const signIn = (key: string) => begin({ key })

export async function signOut() {
  await fetch('/v1/sessions/current', { method: 'DELETE' })
  lost()
  session.notice = ''
}

/** Where the page begins: a link that signs in has its code behind `#`, which is taken out of the address at once. */
export async function start() {
  const code = new URLSearchParams(location.hash.slice(1)).get('link')
  if (code) {
    history.replaceState(null, '', location.pathname + location.search)
    const wrong = await begin({ link: code })
    if (wrong) session.notice = wrong
  }
  if (session.is !== 'in') await look()
}

export const may = (scope: string) => session.who?.scopes.includes(scope) ?? false
