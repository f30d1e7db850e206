import { posix } from 'node:path'

/**
 * What is wrong with the links of a built site: each leads to a file of the site, each anchor to an element of its page, and no page loads
 * anything from another host.
 * @param {ReadonlyMap<string, string>} pages HTML by path in the site
 * @param {ReadonlySet<string>} files paths of all files of the site
 * @param {string} base path of the site on its host, with a slash at both ends
 * @returns {string[]}
 */
export function builtLinkFaults(pages, files, base) {
  /** @type {Map<string, ReadonlySet<string>>} */
  const anchors = new Map()
  const anchorsOf = (/** @type {string} */ page) => {
    const known =
      anchors.get(page) ??
      new Set([...(pages.get(page) ?? '').matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => decode(id)))
    anchors.set(page, known)
    return known
  }
  const faults = []
  for (const [path, html] of pages)
    for (const [, element = '', attributes = ''] of html.matchAll(/<(a|img|script|link|iframe|source)\s([^>]*)>/g)) {
      const [, , value = ''] = /(?:^|\s)(href|src)="([^"]*)"/.exec(attributes) ?? []
      const target = decode(value)
      if (target === '') continue
      if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(target)) {
        if (element !== 'a' && !target.startsWith('data:')) faults.push(`${path}: ${target}: loads from another host`)
        continue
      }
      const fault = targetFault(path, target, { files, base, anchorsOf })
      if (fault !== undefined) faults.push(`${path}: ${target}: ${fault}`)
    }
  return faults
}

/**
 * @param {string} path
 * @param {string} target
 * @param {{ files: ReadonlySet<string>, base: string, anchorsOf: (page: string) => ReadonlySet<string> }} site
 */
function targetFault(path, target, { files, base, anchorsOf }) {
  const [address = '', anchor] = target.split('#')
  const [file = ''] = address.split('?')
  if (file.startsWith('/') && !file.startsWith(base)) return `outside of ${base}`
  const joined = file.startsWith('/') ? file.slice(base.length) : posix.join(posix.dirname(path), decodeURI(file))
  const to =
    file === ''
      ? path
      : joined === '' || joined === './' || joined.endsWith('/')
        ? posix.join(joined, 'index.html')
        : joined
  if (!files.has(to)) return `there is no ${to}`
  if (anchor === undefined || anchor === '' || !to.endsWith('.html')) return undefined
  return anchorsOf(to).has(decodeURIComponent(anchor)) ? undefined : `${to} has no element #${anchor}`
}

/** @param {string} text of an attribute */
function decode(text) {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
