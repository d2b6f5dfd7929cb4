// Values within JSON by their pointers (RFC 6901), as the server's errors name them.

type Json = unknown
type Part = Record<string, Json>

const parts = (pointer: string) => pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

export function at(value: Json, pointer: string): Json {
  return parts(pointer).reduce<Json>((inner, name) => (inner as Part | null | undefined)?.[name], value)
}

/** A copy with another value there; undefined takes it out. */
export function put(value: Json, pointer: string, other: Json): Json {
  const [name, ...rest] = parts(pointer)
  if (name === undefined) return other
  const part = { ...(value as Part) }
  const inner = rest.length ? put(part[name] ?? {}, `/${rest.join('/')}`, other) : other
  if (inner === undefined) delete part[name]
  else part[name] = inner
  return part
}

/** Where two values differ, as pairs of a pointer and both sides. */
export function differences(a: Json, b: Json, here = ''): [string, Json, Json][] {
  const isPart = (value: Json): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isPart(a) && isPart(b)) {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
    return names.flatMap((name) => differences(a[name], b[name], `${here}/${name}`))
  }
  return JSON.stringify(a) === JSON.stringify(b) ? [] : [[here, a, b]]
}
