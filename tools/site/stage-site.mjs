import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { stagePage } from './stage-page.mjs'

/** Markdown that is no page: parts of releases, forms of the host, and what a new driver starts from. */
const omitted = ['.changeset/', '.github/', 'packages/create-driver/template/']

/** Folders of docs, with the title of their part of the site. */
const parts = {
  'docs/guides': 'Guides',
  'docs/reference': 'Reference',
  'docs/design': 'Design',
  'docs/design/decisions': 'Decision records',
}

/** @typedef {{ readonly text: string, readonly link: string }} Entry */

/**
 * Writes the pages of the site, and what VitePress has to know about them, into a folder.
 * @param {string} folder is replaced
 * @param {{ base: string, repository: string | undefined, outDir: string }} options base: path of the site on its host
 * @returns {Promise<number>} number of pages
 */
export async function stageSite(folder, { base, repository, outDir }) {
  await rm(folder, { recursive: true, force: true })
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'])
  const paths = stdout
    .toString()
    .split('\0')
    .filter((path) => path !== '' && !omitted.some((prefix) => path.startsWith(prefix)))
  const pages = new Map(
    await Promise.all(
      paths.map(async (path) => /** @type {const} */ ([path, await readFile(join(root, path), 'utf8')])),
    ),
  )
  const lists = Object.keys(parts).filter((part) => !pages.has(`${part}/README.md`))
  const tree = {
    isPage: pages.has.bind(pages),
    isIndexed: (/** @type {string} */ path) => lists.includes(path) || pages.has(`${path}/README.md`),
    repository,
  }
  /** @type {Set<string>} */
  const pictures = new Set()
  for (const [path, text] of pages) {
    const staged = stagePage(path, text, tree)
    for (const picture of staged.pictures) pictures.add(picture)
    await write(join(folder, path.replace(/(^|\/)README\.md$/, '$1index.md')), staged.text)
  }
  for (const part of lists) await write(join(folder, part, 'index.md'), listPage(part, pages))
  for (const picture of pictures) {
    await mkdir(dirname(join(folder, picture)), { recursive: true })
    await copyFile(join(root, picture), join(folder, picture))
  }
  await write(
    join(folder, '.vitepress/site.json'),
    JSON.stringify({ base, outDir, sidebar: sidebar(pages), repository }),
  )
  return pages.size + lists.length
}

/**
 * @param {string} path
 * @param {string} text
 */
async function write(path, text) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

/**
 * @param {string} part
 * @param {ReadonlyMap<string, string>} pages
 */
function listPage(part, pages) {
  const items = entriesIn(part, pages).map(({ text, link }) => `- [${text}](${basename(link)})`)
  return `# ${parts[/** @type {keyof typeof parts} */ (part)]}\n\n${items.join('\n')}\n`
}

/**
 * @param {ReadonlyMap<string, string>} pages
 */
function sidebar(pages) {
  /** @param {readonly string[]} paths */
  const named = (paths) => paths.filter((path) => pages.has(path)).map((path) => entry(path, pages))
  const others = [...pages.keys()].filter((path) => /^(packages|examples|images)\/.*README\.md$/.test(path)).sort()
  const project = [...pages.keys()].filter((path) => /^[A-Z_]+\.md$/.test(path) && path !== 'README.md').sort()
  return [
    { text: 'Start', items: named(['README.md', 'docs/README.md', 'docs/glossary.md', 'docs/benchmarks.md']) },
    ...Object.entries(parts).map(([part, text]) => ({ text, collapsed: true, items: entriesIn(part, pages) })),
    { text: 'Packages and examples', collapsed: true, items: named(others) },
    { text: 'Project', collapsed: true, items: named(project) },
  ]
}

/**
 * The pages of a folder itself, by title.
 * @param {string} part
 * @param {ReadonlyMap<string, string>} pages
 * @returns {Entry[]}
 */
function entriesIn(part, pages) {
  return [...pages.keys()]
    .filter((path) => dirname(path) === part)
    .map((path) => entry(path, pages))
    .sort((a, b) => a.text.localeCompare(b.text, 'en'))
}

/**
 * @param {string} path
 * @param {ReadonlyMap<string, string>} pages
 * @returns {Entry}
 */
function entry(path, pages) {
  const [, title = path] = /^# (.*)$/m.exec(pages.get(path) ?? '') ?? []
  const link = `/${path.replace(/(^|\/)README\.md$/, '$1')}`
  return { text: title.replaceAll('`', ''), link }
}
