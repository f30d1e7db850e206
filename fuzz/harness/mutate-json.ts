import fc from 'fast-check'

/** A member of an object or list, by its place in document order. */
interface Slot {
  readonly holder: Record<string, unknown> | unknown[]
  readonly key: string
}

/** One change of a document, made in place. Slots are shares of all there are, so that a change fits every document. */
type Change = (slots: readonly Slot[]) => void

const share = fc.integer({ min: 0, max: 10_000 }).map((each) => each / 10_000)
const DEEP = 60

function nested(depth: number, list: boolean): unknown {
  let value: unknown = 'x'
  for (let level = 0; level < depth; level += 1) value = list ? [value] : { a: value }
  return value
}

/** Values of every type, and those that programs forget. */
const values: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1,
    0.5,
    65_535,
    65_536,
    4_294_967_296,
    1e308,
    -1e308,
    9_007_199_254_740_992,
  ),
  fc.constantFrom<unknown>(
    '',
    ' ',
    '*',
    '0',
    '-1',
    'null',
    '__proto__',
    'constructor',
    'toString',
    'a'.repeat(300),
    '\u0000',
    '\ud800',
    '\n',
    '%',
    '.',
    '..',
    '/',
  ),
  fc.constantFrom<unknown>([], {}, [[]], [null], [{}], { a: null }),
  fc.constant(null).map(() => JSON.parse('{"toString":1,"valueOf":2,"length":3}') as unknown),
  fc
    .constant(null)
    .map(() => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as unknown),
  fc.boolean().map((list) => nested(DEEP, list)),
  fc.integer(),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
)

/** Keys that programs forget. */
const keys = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'length',
    '',
    'a'.repeat(300),
    'x y',
    '\u0000',
    '0',
  ),
  fc.string({ maxLength: 8 }),
)

/** Changes of a few places of documents of a corpus; inputs that are not JSON are left out. Undefined if none is left. */
export function mutatedJson(
  corpus: readonly Uint8Array[],
  words: readonly string[],
  maxBytes: number,
): fc.Arbitrary<Uint8Array> | undefined {
  const documents = corpus.map((bytes) => Buffer.from(bytes).toString('utf8')).filter(isJson)
  if (documents.length === 0) return undefined
  const entry = fc.constantFrom(...documents)
  const texts = words.length === 0 ? values : fc.oneof(values, fc.constantFrom<unknown>(...words))
  return fc
    .tuple(entry, fc.array(changeOf(entry, texts, words), { minLength: 1, maxLength: 5 }))
    .map(([text, changes]) => {
      const root = { document: JSON.parse(text) as unknown }
      for (const change of changes) change(slotsOf(root))
      return Buffer.from(JSON.stringify(root.document)).subarray(0, maxBytes)
    })
}

function changeOf(
  entry: fc.Arbitrary<string>,
  texts: fc.Arbitrary<unknown>,
  words: readonly string[],
): fc.Arbitrary<Change> {
  const names = words.length === 0 ? keys : fc.oneof(keys, fc.constantFrom(...words))
  return fc.oneof(
    fc.tuple(share, texts).map(
      ([at, value]): Change =>
        (slots) =>
          set(slot(slots, at), value),
    ),
    share.map(
      (at): Change =>
        (slots) =>
          remove(slot(slots, at)),
    ),
    fc.tuple(share, names).map(
      ([at, key]): Change =>
        (slots) =>
          rename(slot(slots, at), key),
    ),
    fc.tuple(share, names, texts).map(
      ([at, key, value]): Change =>
        (slots) =>
          add(slot(slots, at), key, value),
    ),
    fc.tuple(share, share).map(
      ([from, to]): Change =>
        (slots) =>
          set(slot(slots, to), copy(get(slot(slots, from)))),
    ),
    fc.tuple(share, fc.integer({ min: 2, max: 40 })).map(
      ([at, times]): Change =>
        (slots) =>
          repeat(slot(slots, at), times),
    ),
    fc.tuple(share, share, entry).map(
      ([at, from, other]): Change =>
        (slots) =>
          set(slot(slots, at), get(slot(slotsOf({ document: JSON.parse(other) as unknown }), from))),
    ),
    fc.tuple(share, share, fc.string({ unit: 'binary', maxLength: 4 })).map(([at, where, more]): Change => (slots) => {
      const chosen = slot(slots, at)
      const value = get(chosen)
      if (typeof value !== 'string') return
      const cut = Math.floor(where * (value.length + 1))
      set(chosen, `${value.slice(0, cut)}${more}${value.slice(cut)}`)
    }),
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** All slots in document order; the document itself is the first. */
function slotsOf(root: Record<string, unknown>): readonly Slot[] {
  const slots: Slot[] = []
  const visit = (holder: Record<string, unknown> | unknown[]): void => {
    for (const key of Object.keys(holder)) {
      const found = { holder, key }
      slots.push(found)
      const value = get(found)
      if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown> | unknown[])
    }
  }
  visit(root)
  return slots
}

function slot(slots: readonly Slot[], at: number): Slot {
  const chosen = slots[Math.min(slots.length - 1, Math.floor(at * slots.length))]
  if (chosen === undefined) throw new Error('a document has at least one slot')
  return chosen
}

function get({ holder, key }: Slot): unknown {
  return Object.getOwnPropertyDescriptor(holder, key)?.value as unknown
}

/** Defines the member: an assignment to `__proto__` would change the prototype and vanish from the text. */
function set({ holder, key }: Slot, value: unknown): void {
  if (Array.isArray(holder)) holder[Number(key)] = value
  else Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true })
}

function remove({ holder, key }: Slot): void {
  if (key === 'document') return
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else Reflect.deleteProperty(holder, key)
}

function rename(chosen: Slot, key: string): void {
  const { holder } = chosen
  if (Array.isArray(holder) || chosen.key === 'document') return
  const value = get(chosen)
  remove(chosen)
  set({ holder, key }, value)
}

function add(chosen: Slot, key: string, value: unknown): void {
  const parent = get(chosen)
  if (Array.isArray(parent)) parent.push(value)
  else if (typeof parent === 'object' && parent !== null) set({ holder: parent as Record<string, unknown>, key }, value)
}

function repeat(chosen: Slot, times: number): void {
  const value = get(chosen)
  if (typeof value === 'string')
    set(chosen, value.repeat(Math.min(times, Math.floor(1024 / Math.max(1, value.length)) + 1)))
  else if (Array.isArray(value))
    for (let turn = 1; turn < times && value.length < 64; turn += 1) value.push(copy(value[0] as unknown))
}

function copy(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
}
