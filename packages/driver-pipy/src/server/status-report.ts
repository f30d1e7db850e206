/** What of a worker's status report is used. */
export interface StatusReport {
  /** ETag of the codebase that it loaded last; empty after its first one, which it does not tell. */
  readonly version: string
  /** When the worker began, in its own words. Tells one worker from another. */
  readonly since: string
}

const MAX_LENGTH = 128

/** Reads a status report. Undefined if it is none. */
export function readStatusReport(body: Uint8Array): StatusReport | undefined {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const { version = '', since = '' } = value as { readonly version?: unknown; readonly since?: unknown } // checked below
  const text = (given: unknown) => (typeof given === 'string' || typeof given === 'number' ? String(given) : undefined)
  const [versionText, sinceText] = [text(version), text(since)]
  if (versionText === undefined || sinceText === undefined) return undefined
  if (versionText.length > MAX_LENGTH || sinceText.length > MAX_LENGTH) return undefined
  return { version: versionText, since: sinceText }
}
