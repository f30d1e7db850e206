/** The message of an error. Anything else that was thrown is given as text. */
export function errorMessage(error: unknown): string {
  // An error of another realm is no instance of this realm's Error.
  const hasMessage = typeof error === 'object' && error !== null && 'message' in error
  return hasMessage && typeof error.message === 'string' ? error.message : String(error)
}
