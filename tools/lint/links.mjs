/** Links of the Markdown pages: each relative link leads to a file of the checkout, and each anchor to a heading of its page. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { headingSlug } from './heading-slug.mjs'

/** Pages of the host, which a README can only reach by leaving the checkout. */
const ofHost = '../../actions/'

/** @returns {Promise<readonly string[]>} what is wrong, each with the file and the line */
export async function checkLinks() {
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'])
  const pages = stdout
    .toString()
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)))
  return pages.flatMap((path) => linkFaults(path, readFileSync(join(root, path), 'utf8'), readPage))
}

/**
 * @param {string} path of the page, relative to the root
 * @param {string} text
 * @param {(path: string) => string | undefined} read the text of another page, '' for what is no page, undefined if it does not exist
 * @returns {readonly string[]}
 */
export function linkFaults(path, text, read) {
  const faults = []
  for (const [index, line] of proseLines(text).entries()) {
    for (const [, target = ''] of line.matchAll(/\]\(<?([^()\s>]+)>?\)/g)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith(ofHost)) continue
      const [file = '', anchor] = target.split('#')
      const to = file === '' ? path : normalize(join(dirname(path), decodeURI(file)))
      const page = to === path ? text : read(to)
      if (page === undefined) faults.push(`${path}:${index + 1}: ${target}: there is no ${to}`)
      else if (anchor !== undefined && to.endsWith('.md') && !anchorsOf(page).has(anchor))
        faults.push(`${path}:${index + 1}: ${target}: ${to} has no heading #${anchor}`)
    }
  }
  return faults
}

/**
 * The lines of a page; those of fences are empty, and code inside a line is blank.
 * @param {string} text
 */
export function proseLines(text) {
  let fence = ''
  return text.split('\n').map((line) => {
    const [, mark = ''] = /^\s*(`{3,}|~{3,})/.exec(line) ?? []
    if (fence !== '') {
      if (mark.startsWith(fence)) fence = ''
      return ''
    }
    fence = mark
    return mark === '' ? line.replaceAll(/`[^`]*`/g, (code) => '`'.repeat(code.length)) : ''
  })
}

/**
 * Anchors as the host makes them: of headings, numbered if equal, and of elements with an id.
 * @param {string} text
 */
function anchorsOf(text) {
  const anchors = new Set([...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id))
  let isFenced = false
  for (const line of text.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) isFenced = !isFenced
    const [, heading] = /^#{1,6}\s+(.*?)\s*#*$/.exec(isFenced ? '' : line) ?? []
    if (heading === undefined) continue
    const slug = headingSlug(heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1'))
    let unused = slug
    for (let count = 1; anchors.has(unused); count += 1) unused = `${slug}-${count}`
    anchors.add(unused)
  }
  return anchors
}

/** @param {string} path */
function readPage(path) {
  const full = join(root, path)
  if (!existsSync(full)) return undefined
  return path.endsWith('.md') && statSync(full).isFile() ? readFileSync(full, 'utf8') : ''
}
