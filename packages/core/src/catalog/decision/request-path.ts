/** A path as sidecars see it, or why they answer 400. */
export type RequestPath = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly reason: string }

/**
 * The path that policy is matched against: the request's target without query, runs of slashes merged.
 *
 * What could mean another path to the application than to the policy is refused, not rewritten: dot segments, encoded dots in them or parameters
 * after them, encoded slashes and backslashes, and bytes that are no text.
 */
export function requestPath(target: string): RequestPath {
  const [path = ''] = target.split('?', 1)
  if (!path.startsWith('/')) return { ok: false, reason: 'the path does not begin with a slash' }
  if (/[\0#\\]/.test(path)) return { ok: false, reason: 'the path holds a NUL, a # or a backslash' }
  if (/%(2f|5c|00)/i.test(path)) return { ok: false, reason: 'the path holds an encoded slash, backslash or NUL' }
  if (path.split('/').some((segment) => /^(\.|%2e){1,2}(;|%3b|$)/i.test(segment)))
    return { ok: false, reason: 'the path holds a dot segment' }
  if (/^\/{2,}$/.test(path)) return { ok: false, reason: 'the path is nothing but slashes' }
  if (!isText(path)) return { ok: false, reason: 'the path is no UTF-8 text' }
  return { ok: true, path: path.replace(/\/{2,}/g, '/') }
}

function isText(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
