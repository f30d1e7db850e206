/** `code` of a system error; undefined for others. */
export function systemCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  const isError = typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
  return isError ? (error.message as string) : String(error)
}
