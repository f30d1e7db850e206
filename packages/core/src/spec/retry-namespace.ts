/** Says that a Retry is ignored because it is not in the namespace of its source, and what to do. */
export function misplacedRetry(source: string, own: string): string {
  const named = JSON.stringify(source)
  return `is ${named}, but the Retry is in ${JSON.stringify(own)} and is ignored: set metadata.namespace to ${named}`
}
