import { describe, expect, it } from '@jest/globals'

import type { Steps } from './async/in-turns.js'
import { listPage, MAX_PAGE_ITEMS, MAX_PAGE_TEXT } from './list-page.js'

const { signal } = new AbortController()
const numbers = Array.from({ length: 10_000 }, (_, at) => at)

// A generator without a yield: the description of a number is one step.
// eslint-disable-next-line require-yield
function* plain(at: number): Steps<unknown> {
  return { at }
}

async function page(query: Readonly<Record<string, string>>, items = numbers, describeItem = plain) {
  const answer = await listPage({ items, noun: 'proxies', describe: describeItem, query, filters: ['uuid'], signal })
  return { ...answer, list: JSON.parse(answer.body) as readonly { readonly at?: number; readonly note?: string }[] }
}

describe('listPage', () => {
  it('lists all of a few items', async () => {
    expect(await page({}, [1, 2])).toMatchObject({ status: 200, list: [{ at: 1 }, { at: 2 }] })
    expect(await page({}, [])).toMatchObject({ status: 200, body: '[]\n' })
  })

  it('says how many items it leaves out, and how to read them', async () => {
    const { list } = await page({})
    expect(list).toHaveLength(MAX_PAGE_ITEMS + 1)
    expect(list.at(-1)).toEqual({
      omitted: 9_000,
      note: '9000 of 10000 proxies are not shown; select others by ?uuid=, ?offset=1000',
    })
  })

  it('shows the items of an offset up to a limit', async () => {
    const { list } = await page({ offset: '9998', limit: '1' })
    expect(list).toEqual([{ at: 9_998 }, expect.objectContaining({ omitted: 9_999 })])
    expect((await page({ offset: '9999', limit: '5' })).list.at(-1)?.note).toMatch(/select others by \?uuid=$/)
  })

  it('ends with the item that exceeds its length', async () => {
    // eslint-disable-next-line require-yield
    function* large(): Steps<unknown> {
      return 'x'.repeat(MAX_PAGE_TEXT / 4)
    }
    const { list, body } = await page({}, numbers, large)
    expect(list).toHaveLength(5)
    expect(body.length).toBeLessThan(1.25 * MAX_PAGE_TEXT)
    expect(list.at(-1)?.note).toMatch(/\?offset=4$/)
  })

  it.each([
    [{ limit: '0' }, 'limit: must be a whole number from 1 to 1000, got "0"'],
    [{ limit: '1001' }, 'limit: must be a whole number from 1 to 1000, got "1001"'],
    [{ offset: '-1' }, 'offset: must be a whole number, got "-1"'],
    [{ offset: 'a'.repeat(100) }, `offset: must be a whole number, got "${'a'.repeat(64)}"`],
  ])('refuses %j', async (query, error) => {
    expect(await page(query as Readonly<Record<string, string>>)).toMatchObject({ status: 400, list: { error } })
  })

  it('lets others have their turn', async () => {
    function* slow(at: number): Steps<unknown> {
      const until = performance.now() + 15
      while (performance.now() < until);
      yield
      return at
    }
    let turns = 0
    const counting = setInterval(() => (turns += 1), 1)
    await page({}, [1, 2, 3, 4, 5, 6], slow)
    clearInterval(counting)
    expect(turns).toBeGreaterThanOrEqual(4)
  })
})
