import { dirname, normalize } from 'node:path'
import { proseLines } from '../lint/links.mjs'

/**
 * What a page needs to know about the repository. Paths are relative to its root.
 * @typedef {object} Tree
 * @property {(path: string) => boolean} isPage whether the site has this Markdown page
 * @property {(path: string) => boolean} isIndexed whether the site has an index page for this folder
 * @property {string | undefined} repository address of the repository; undefined leaves out links to files that are not pages
 */

/** A line of badges: pictures of another host, which say something about the repository and nothing about the page. */
const badge = /^\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)$/

/**
 * Turns a page of the repository into a page of the site. The text of the page stays as it is; its links lead to pages of the site, or to
 * files of the repository.
 * @param {string} path
 * @param {string} text
 * @param {Tree} tree
 * @returns {{ readonly text: string, readonly pictures: readonly string[] }} pictures: files that the page shows
 */
export function stagePage(path, text, tree) {
  const page = withWholeLinks(text)
  const prose = proseLines(page)
  /** @type {string[]} */
  const pictures = []
  const lines = page.split('\n').flatMap((line, index) => {
    // A line of code is empty among the lines of prose.
    if (prose[index] === '') return [line]
    if (badge.test(line)) return []
    const summary = /^<summary>(.*)<\/summary>$/.exec(line)
    if (line === '<details>') return []
    if (summary !== null) return [`::: details ${summary[1]}`]
    if (line === '</details>') return [':::']
    return [
      line.replaceAll(/`[^`]*`|(!?)\[((?:`[^`]*`|[^\]`])*)\]\(<?([^()\s>]+)>?\)/g, (whole, mark, label, target) => {
        if (target === undefined || /^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('#')) return whole
        if (mark === '!') {
          pictures.push(normalize(`${dirname(path)}/${target}`))
          return whole
        }
        const moved = siteTarget(path, target, tree)
        return moved === undefined ? label : `[${label}](${moved})`
      }),
    ]
  })
  return { text: lines.join('\n'), pictures }
}

/**
 * Puts a link whose label continues on the next line on one line: links are replaced line by line.
 * @param {string} text
 */
function withWholeLinks(text) {
  const prose = proseLines(text)
  /** @type {string[]} */
  const lines = []
  for (const [index, line] of text.split('\n').entries()) {
    const isContinued = /\[[^\]]*$/.test(prose[index - 1] ?? '') && /^[^[\]]*\]\(/.test(prose[index] ?? '')
    if (isContinued) lines.push(`${lines.pop()} ${line.trimStart()}`)
    else lines.push(line)
  }
  return lines.join('\n')
}

/**
 * @param {string} path of the page
 * @param {string} target relative to it
 * @param {Tree} tree
 * @returns {string | undefined} undefined if the site and the known hosts do not have it
 */
function siteTarget(path, target, { isPage, isIndexed, repository }) {
  const [file = '', anchor] = target.split('#')
  const suffix = anchor === undefined ? '' : `#${anchor}`
  const to = normalize(`${dirname(path)}/${file}`).replace(/\/$/, '')
  if (isPage(to)) return `${file.replace(/(^|\/)README\.md$/, '$1index.md')}${suffix}`
  if (isIndexed(to)) return `${file.replace(/\/$/, '')}/index.md`
  if (repository === undefined) return undefined
  return to.startsWith('../')
    ? `${repository}/${to.replace(/^(\.\.\/)+/, '')}`
    : `${repository}/blob/main/${to}${suffix}`
}
