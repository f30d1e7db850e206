/** A path as sidecars see it, or why they answer 400. */
export type RequestPath =
  | {
      readonly ok: true
      readonly path: string
      /** Other paths that an application may find in it; empty without escaped slashes. Rules must allow each of them. */
      readonly readings: readonly string[]
    }
  | { readonly ok: false; readonly reason: string }

/** What becomes of a path with escaped slashes or backslashes. */
export type EscapedSlashes = 'Reject' | 'Keep'

const ESCAPED = /%(?:2f|5c)/gi

/**
 * The path that policy is matched against: the request's target without query, runs of slashes merged.
 *
 * What could mean another path to the application than to the policy is refused, not rewritten: dot segments, encoded dots in them or parameters
 * after them, and bytes that are not text. So are escaped slashes and backslashes, unless they are kept: then dot segments beside them are refused.
 */
export function requestPath(target: string, escapedSlashes: EscapedSlashes = 'Reject'): RequestPath {
  const [path = ''] = target.split('?', 1)
  if (!path.startsWith('/')) return { ok: false, reason: 'the path does not begin with a slash' }
  if (/[\0#\\]/.test(path)) return { ok: false, reason: 'the path contains a NUL, a # or a backslash' }
  if (/%00/.test(path)) return { ok: false, reason: 'the path contains an encoded NUL' }
  const isEscaped = path.search(ESCAPED) !== -1
  if (isEscaped && escapedSlashes === 'Reject')
    return {
      ok: false,
      reason:
        'the path contains an encoded slash or backslash; spec.traffic.escapedSlashes: Keep of the MeshConfig lets such paths through',
    }
  if (path.split(/\/|%2f|%5c/i).some((segment) => /^(\.|%2e){1,2}(;|%3b|$)/i.test(segment)))
    return { ok: false, reason: 'the path contains a dot segment' }
  if (/^\/{2,}$/.test(path)) return { ok: false, reason: 'the path is nothing but slashes' }
  if (!isText(path)) return { ok: false, reason: 'the path is not UTF-8 text' }
  const merged = withoutRuns(path)
  const plain = merged.replaceAll(ESCAPED, '/')
  return { ok: true, path: merged, readings: isEscaped ? [plain, withoutRuns(plain)] : [] }
}

function withoutRuns(path: string): string {
  return path.replaceAll(/\/{2,}/g, '/')
}

function isText(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
