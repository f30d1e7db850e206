/**
 * Whether an image holds a proxy older than its driver serves, by the version in its tag. An image whose tag names no version is taken as it is.
 *
 * @param oldest - as a driver declares it, such as `1.37`; undefined or empty if any will do
 */
export function isOlderProxy(image: string, oldest: string | undefined): boolean {
  if (oldest === undefined || oldest === '') return false
  // What is behind the last colon, and before a digest; a port of the registry comes before a slash.
  const tag = /:([^/:@]+)(?:@|$)/.exec(image)?.[1] ?? ''
  const version = /\d+\.\d+(?:\.\d+)?/.exec(tag)?.[0]
  return version !== undefined && comesBefore(numbersOf(version), numbersOf(oldest))
}

function numbersOf(version: string): readonly number[] {
  return version.split('.').map(Number)
}

function comesBefore(one: readonly number[], other: readonly number[]): boolean {
  for (const [index, number] of other.entries()) {
    const own = one[index] ?? 0
    if (own !== number) return own < number
  }
  return false
}
