/** Whether a key is meant for what has the focus, or for the browser, and not for the view. */
export function taken(event: KeyboardEvent): boolean {
  const field = (event.target as Element).matches('input:not([type="checkbox"], [type="radio"], [type="range"]), select, textarea')
  return field || event.metaKey || event.ctrlKey || event.altKey
}
