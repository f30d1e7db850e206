import { ResolveFailure } from './resolve-failure.js'

/** Bounds of one list: an API whose list exceeds one of them is not asked for more. */
export const listLimits = { pages: 100, items: 10_000 } as const

/**
 * All items of a list.
 *
 * @param pages - asks for a page at a time
 * @param what - for the message, such as `virtual machines of subscription …`
 * @throws ResolveFailure with code TooManyPages or TooManyInstances; the rest of the list is not requested
 */
export async function collectPages<T>(pages: AsyncIterable<readonly T[]>, what: string): Promise<readonly T[]> {
  const items: T[] = []
  let count = 0
  for await (const page of pages) {
    count += 1
    for (const item of page) items.push(item)
    if (items.length > listLimits.items) {
      throw new ResolveFailure('TooManyInstances', `the list of ${what} has more than ${listLimits.items} items`)
    }
    if (count >= listLimits.pages) {
      throw new ResolveFailure('TooManyPages', `the list of ${what} does not end within ${listLimits.pages} pages`)
    }
  }
  return items
}
