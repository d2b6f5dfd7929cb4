/** Keys of one letter are off where they get in the way, as with dictation. */
export const letters = { get on() { return localStorage.getItem('letters') !== 'off' }, set on(on: boolean) { localStorage.setItem('letters', on ? 'on' : 'off') } }

/** Whether a key is meant for what has the focus, or for the browser, and not for the view. */
export function taken(event: KeyboardEvent): boolean {
  const field = (event.target as Element).matches('input:not([type="checkbox"], [type="radio"], [type="range"]), select, textarea')
  return field || !letters.on || event.metaKey || event.ctrlKey || event.altKey
}
