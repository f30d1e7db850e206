import { copyFile, cp, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { ensureLockedPackages } from '../lib/locked-packages.mjs'
import { localBin, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { builtLinkFaults } from './built-links.mjs'
import { stageSite } from './stage-site.mjs'

const source = join(root, 'dist/site-source')
const output = join(root, 'dist/site')
const driverApi = 'docs/reference/driver-api'

/** @typedef {{ readonly base: string, readonly repository: string | undefined }} SiteOptions */

/**
 * Builds the site into dist/site, with the reference of the driver contract, and checks its links.
 * @param {SiteOptions} options
 * @returns {Promise<{ readonly pages: number, readonly faults: readonly string[] }>}
 */
export async function buildSite({ base, repository }) {
  await timed('Generating the reference of the driver contract', () => mustRun(localBin('typedoc'), []))
  const installed = await installSiteTools()
  const pages = await stageSite(source, { base, repository, outDir: output })
  const settings = join(source, '.vitepress')
  await copyFile(join(import.meta.dirname, 'vitepress/config.js'), join(settings, 'config.mjs'))
  await copyFile(join(root, 'tools/lint/heading-slug.mjs'), join(settings, 'heading-slug.mjs'))
  await cp(join(import.meta.dirname, 'vitepress/theme'), join(settings, 'theme'), { recursive: true })
  await symlink(join(installed, 'node_modules'), join(source, 'node_modules'))
  const publicFolder = join(source, 'public')
  await cp(join(root, driverApi), join(publicFolder, driverApi), { recursive: true })
  await copyMermaid(join(installed, 'node_modules/mermaid/dist'), join(publicFolder, 'mermaid'))
  const program = join(installed, 'node_modules/vitepress/bin/vitepress.js')
  await rm(output, { recursive: true, force: true })
  await timed('Building the site', () => mustRun(process.execPath, [program, 'build', source]))
  return { pages, faults: await checkSite(base) }
}

/**
 * Serves the built site on the loopback address until it is interrupted.
 * @param {SiteOptions & { port: number }} options
 * @returns {Promise<{ file: string, args: readonly string[] }>} the program that serves it
 */
export async function previewProgram({ base, port }) {
  const program = join(await installSiteTools(), 'node_modules/vite/bin/vite.js')
  const where = ['--host', '127.0.0.1', '--port', String(port), '--strictPort']
  return { file: process.execPath, args: [program, 'preview', '--outDir', output, '--base', base, ...where] }
}

function installSiteTools() {
  return ensureLockedPackages(join(import.meta.dirname, 'vitepress'), {
    name: 'site',
    title: 'The builder of the site',
    task: 'Installing VitePress',
    inputs: [process.version, process.platform, process.arch],
  })
}

/**
 * The library for diagrams as its authors built it, which browsers load with the first diagram.
 * @param {string} from
 * @param {string} to
 */
async function copyMermaid(from, to) {
  const chunks = 'chunks/mermaid.esm.min'
  await mkdir(to, { recursive: true })
  await copyFile(join(from, 'mermaid.esm.min.mjs'), join(to, 'mermaid.esm.min.mjs'))
  await cp(join(from, chunks), join(to, chunks), { recursive: true, filter: (path) => !path.endsWith('.map') })
}

/** @param {string} base */
async function checkSite(base) {
  const entries = await readdir(output, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(output, join(entry.parentPath, entry.name)))
  /** @type {Map<string, string>} */
  const pages = new Map()
  for (const path of paths) if (path.endsWith('.html')) pages.set(path, await readFile(join(output, path), 'utf8'))
  return builtLinkFaults(pages, new Set(paths), base)
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 */
async function mustRun(program, args) {
  const { code, stdout, stderr } = await run(program, args)
  if (code !== 0) throw new SetUpError('The site cannot be built.', `${stdout.toString()}${stderr}`)
}
