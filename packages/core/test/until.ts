const LIMIT_MS = 10_000

/** Waits for something that other tasks bring about; a bound, not a duration. */
export async function until(condition: () => boolean, what = condition.toString()): Promise<void> {
  const end = performance.now() + LIMIT_MS
  while (!condition()) {
    if (performance.now() > end) throw new Error(`still not: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
