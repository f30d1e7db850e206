/** Does something for each item, at most so many at a time. */
export async function each<T>(items: Iterable<T>, atATime: number, action: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].values()
  const worker = async (): Promise<void> => {
    for (const item of queue) await action(item)
  }
  await Promise.all(Array.from({ length: atATime }, worker))
}
