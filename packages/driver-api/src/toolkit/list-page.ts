import type { DebugRequest, DebugResponse } from '../controller-context.js'
import { inTurns, type Steps } from './async/in-turns.js'
import { jsonInSteps } from './json-steps.js'

/** Items that a page lists at most. */
export const MAX_PAGE_ITEMS = 1_000
/** Characters after which a page lists no further item. */
export const MAX_PAGE_TEXT = 4 << 20

/** What a {@link listPage} shows. */
export interface ListPageOptions<T> {
  /** In an order that stays the same from one request to the next. */
  readonly items: readonly T[]
  /** Plural noun, such as `proxies`. */
  readonly noun: string
  /** What the page says of an item. */
  readonly describe: (item: T) => Steps<unknown>
  /** `limit` and `offset` select items. */
  readonly query: DebugRequest['query']
  /** Further parameters that select items, for the note. */
  readonly filters: readonly string[]
  /** Ends the making of the page. */
  readonly signal: AbortSignal
}

/**
 * A debug page that lists proxies, as a JSON array. It is made in turns of the event loop, and bounded by {@link MAX_PAGE_ITEMS} and
 * {@link MAX_PAGE_TEXT}. If it leaves out items, its last element has `omitted`, their number, and a `note` that says how to read them.
 */
export async function listPage<T>(options: ListPageOptions<T>): Promise<DebugResponse> {
  const limit = wholeNumber(options.query['limit'], MAX_PAGE_ITEMS)
  const offset = wholeNumber(options.query['offset'], 0)
  if (limit === undefined || limit < 1 || limit > MAX_PAGE_ITEMS)
    return refusal('limit', `a whole number from 1 to ${MAX_PAGE_ITEMS}`, options.query['limit'])
  if (offset === undefined) return refusal('offset', 'a whole number', options.query['offset'])
  const text = await inTurns(listInSteps(options, offset, offset + limit), options.signal)
  return { status: 200, contentType: 'application/json', body: text ?? '[]\n' }
}

function* listInSteps<T>(
  { items, noun, describe, filters }: ListPageOptions<T>,
  start: number,
  end: number,
): Steps<string> {
  const texts: string[] = []
  let length = 0
  let next = start
  while (next < Math.min(end, items.length) && length < MAX_PAGE_TEXT) {
    const text = yield* jsonInSteps(yield* describe(items[next] as T))
    texts.push(text)
    length += text.length
    next += 1
    yield
  }
  const omitted = items.length - texts.length
  if (omitted > 0) {
    const others = [...filters.map((name) => `?${name}=`), ...(next < items.length ? [`?offset=${next}`] : [])]
    const note = `${omitted} of ${items.length} ${noun} are not shown; select others by ${others.join(', ')}`
    texts.push(JSON.stringify({ omitted, note }))
  }
  return texts.length === 0 ? '[]\n' : `[\n${texts.join(',\n')}\n]\n`
}

/** Undefined for what is none. */
function wholeNumber(text: string | undefined, absent: number): number | undefined {
  if (text === undefined) return absent
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

function refusal(parameter: string, accepted: string, found = ''): DebugResponse {
  const error = `${parameter}: must be ${accepted}, got ${JSON.stringify(found.slice(0, 64))}`
  return { status: 400, contentType: 'application/json', body: `${JSON.stringify({ error })}\n` }
}
