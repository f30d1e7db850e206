import { parseArgs } from 'node:util'
import { reportCounts } from '../lib/counts.mjs'
import { runAttached } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { buildSite, previewProgram } from '../site/build-site.mjs'

const usage = `Usage: npm run docs -- [options]

Builds the pages of this repository and the reference of the driver contract as a site in dist/site, and checks its links.

  --base <path>         path of the site on its host (default: /)
  --repository <url>    address of the repository; without it, links to files that are not pages become text
  --preview             serve the site on 127.0.0.1 until Ctrl-C
  --port <number>       port of --preview (default: 4173)
  -h, --help            print this help
`

/** @type {import('../run-task.mjs').Task} */
export async function task(args) {
  const { base, repository, preview, port, help } = readArguments(args)
  if (help) {
    process.stdout.write(usage)
    return 0
  }
  const { pages, faults } = await buildSite({ base, repository })
  for (const fault of faults) process.stdout.write(`${fault}\n`)
  reportCounts('docs', { passed: faults.length === 0 ? pages : 0, failed: faults.length, skipped: 0 })
  if (faults.length > 0) return 1
  process.stdout.write(`dist/site: ${pages} pages\n`)
  if (!preview) return 0
  const { file, args: program } = await previewProgram({ base, repository, port })
  return runAttached(file, program)
}

/** @param {readonly string[]} args */
function readArguments(args) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        base: { type: 'string', default: '/' },
        repository: { type: 'string' },
        preview: { type: 'boolean', default: false },
        port: { type: 'string', default: '4173' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (!/^\/(?:[\w.-]+\/)*$/.test(values.base))
      throw new Error(`--base: expected a path such as /osm-ts/, got ${values.base}`)
    if (values.repository !== undefined && !URL.canParse(values.repository))
      throw new Error(`--repository: expected an address, got ${values.repository}`)
    const port = Number(values.port)
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new Error(`--port: expected 1 to 65535, got ${values.port}`)
    return { ...values, repository: values.repository, port }
  } catch (error) {
    throw new SetUpError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  }
}
