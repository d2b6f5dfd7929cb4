// Numbers, times and names as people read them.

const NONE = '–'

/** Four significant digits. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2)
  if (Number.isInteger(value)) return value.toLocaleString('en-US')
  return String(Number(value.toPrecision(4)))
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? NONE : `${(100 * share).toFixed(1)} %`
}

export function bytes(size: number | null | undefined): string {
  if (size === null || size === undefined) return NONE
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = size < 1 ? 0 : Math.min(4, Math.floor(Math.log2(size) / 10))
  return `${Number((size / 1024 ** power).toPrecision(3))} ${units[power]}`
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return NONE
  const s = Math.max(0, Math.round(seconds))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`
}

/** How long ago, of Unix seconds. */
export function ago(time: number | null | undefined): string {
  return time === null || time === undefined ? NONE : `${duration(Date.now() / 1000 - time)} ago`
}

export function time(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return NONE
  return new Date(1000 * seconds).toLocaleString('sv-SE')
}

/** The last digits of an id, which differ the most. */
export function short(id: string): string {
  const [kind, digits] = id.split('_')
  return digits && digits.length > 12 ? `${kind}_…${digits.slice(-6)}` : id
}

/** A name as it is shown: what would turn its neighbours around is left out (Unicode's marks of direction, controls). */
export function plain(text: string | null | undefined): string {
  return (text ?? '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
}

/** What something is called, or its id; what is built in is known by its id. */
export const called = (thing: { id: string; name?: string | null }) =>
  (thing.id.startsWith('builtin:') ? '' : plain(thing.name)) || short(thing.id)
