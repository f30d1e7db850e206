/** Leaves out whatever can be left out while a list still fails, one element at a time. */
export async function shrunk<T>(
  list: readonly T[],
  fails: (list: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let smallest = list
  for (let index = 0; index < smallest.length;) {
    const without = smallest.filter((_, other) => other !== index)
    if (await fails(without)) smallest = without
    else index += 1
  }
  return smallest
}
