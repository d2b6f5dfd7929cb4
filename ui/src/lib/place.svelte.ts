// Where the page is: its path and its query, which every view reads and writes, so that each has an address.

export const place = $state({ path: location.pathname, query: new URLSearchParams(location.search) })

function look() {
  place.path = location.pathname
  place.query = new URLSearchParams(location.search)
}

addEventListener('popstate', look)

/** Goes to an address of this page. */
export function go(to: string, replace = false) {
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  look()
  if (!replace) scrollTo(0, 0)
}

/** Changes parameters of the address; empty ones are left out. */
export function ask(changes: Record<string, string>) {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  const text = query.toString()
  go(location.pathname + (text ? `?${text}` : ''), true)
}

/** A click on a link of this page changes the view and loads nothing. */
export function follow(event: MouseEvent) {
  const link = (event.target as Element).closest('a')
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const to = new URL(link.href, location.href)
  if (to.origin !== location.origin || link.target || link.hasAttribute('download')) return
  if (to.pathname.startsWith('/docs') || to.pathname.startsWith('/v1') || to.pathname.endsWith('.json')) return
  if (to.hash && to.pathname === location.pathname) return
  event.preventDefault()
  go(to.pathname + to.search)
}
