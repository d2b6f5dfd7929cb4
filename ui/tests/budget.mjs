// How much a browser loads: the first view, each further one, and all of it, as brotli sends it.
import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync } from 'node:zlib'

const dist = new URL('../dist/', import.meta.url)
const names = readdirSync(new URL('assets/', dist))
const texts = new Map(names.map((name) => [name, readFileSync(new URL(`assets/${name}`, dist), 'utf8')]))
// The server compresses lightly, because others use its processor.
const size = (text) => brotliCompressSync(text, { params: { 1: 4 } }).length
const BUDGETS = { first: 60_000, more: 60_000, all: 250_000 }

/** A file and all that it imports at once. */
function closure(name, seen = new Set()) {
  if (seen.has(name)) return seen
  seen.add(name)
  for (const [, other] of (texts.get(name) ?? '').matchAll(/(?:from|import)\s*["'`]\.\/([\w.-]+)["'`]/g)) closure(other, seen)
  return seen
}
const index = readFileSync(new URL('index.html', dist), 'utf8')
const entries = [...index.matchAll(/assets\/([\w.-]+)/g)].map(([, name]) => name)
const begin = new Set(entries.flatMap((name) => [...closure(name)]))
const weigh = (files) => [...files].reduce((sum, name) => sum + size(texts.get(name) ?? ''), 0)
const view = (prefix) => names.filter((name) => name.startsWith(`${prefix}-`)).flatMap((name) => [...closure(name)])
const shared = (name) => names.filter((other) => other.endsWith('.css') && other.split('-')[0] === name.split('-')[0])

const first = new Set([...begin, ...view('Jobs')].flatMap((name) => [name, ...shared(name)]))
const sizes = { first: size(index) + weigh(first), all: size(index) + weigh(names) }
let wrong = sizes.first > BUDGETS.first || sizes.all > BUDGETS.all
for (const name of ['Job', 'NewJob', 'Compare', 'Operate', 'Data']) {
  const more = new Set(view(name).flatMap((file) => [file, ...shared(file)]).filter((file) => !first.has(file)))
  sizes[name] = weigh(more)
  wrong ||= sizes[name] > BUDGETS.more
}
console.log('bytes as brotli:', sizes, 'of', BUDGETS)
process.exit(wrong ? 1 : 0)
