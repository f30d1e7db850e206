/** Asks until the answer is accepted. The bound is one that no load reaches; the error has the last answer. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  accept: (answer: T) => boolean,
  {
    timeoutMs = 120_000,
    everyMs = 50,
    what = 'the expected answer',
  }: { timeoutMs?: number; everyMs?: number; what?: string } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (accept(answer)) return answer
    if (performance.now() > deadline)
      throw new Error(`${what} did not come within ${timeoutMs} ms; last: ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
