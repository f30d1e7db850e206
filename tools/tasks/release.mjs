import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { reportCounts } from '../lib/counts.mjs'
import { say } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { dryRun } from '../release/dry-run.mjs'
import { prepareRelease } from '../release/prepare-release.mjs'

const signals = /** @type {const} */ (['SIGINT', 'SIGTERM'])

const usage = `Usage: npm run release -- --dry-run [options]
       npm run release -- --prepare <folder> --registry <name> [--repository <url>]

--dry-run releases the last commit to registries on this machine, installs from them, and removes everything again. The checkout stays
as it is. If it has changes that are not committed, a commit of the files as they are is released instead.
--prepare fills a folder with the images, packages, chart and bills of materials of this checkout, with the versions that its packages
have. It publishes nothing.

Options:
  --once              dry run: do not make everything a second time in another folder to compare it
  --cluster           dry run: also install the chart in a local cluster of one node, and call a pod of the mesh; takes root
  --registry <name>   prepare: registry and path before the names of the images
  --repository <url>  prepare: repository that packages name as that of their sources, without .git; provenance takes it
  -o json             print JSON
  --help              print this

Environment:
  SOURCE_DATE_EPOCH   date of the release in seconds since 1970; the default is that of the commit
  COSIGN_BIN          dry run: the cosign that signs and verifies; the default is that of the PATH, and without one the step is skipped
`

/**
 * Makes a release.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const { values } = readArguments(args)
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const json = values.output === 'json'
  if (!json && values.output !== 'text') throw new SetUpError(`-o ${values.output}: expected json or text`)
  if (values.prepare !== undefined) return prepare(values.prepare, values, json)
  if (!values['dry-run'])
    throw new SetUpError(
      `Publishing is the job of .github/workflows/release.yaml. Expected --dry-run or --prepare.\n\n${usage}`,
    )

  const folder = await mkdtemp(join(tmpdir(), 'osm-release-'))
  const interrupted = new AbortController()
  const abort = () => interrupted.abort()
  for (const name of signals) process.once(name, abort)
  try {
    const steps = []
    for await (const step of dryRun(folder, {
      twice: !values.once,
      onCluster: values.cluster,
      signal: interrupted.signal,
    })) {
      steps.push(step)
      const result = step.skipped ? 'SKIP' : step.passed ? 'ok  ' : 'FAIL'
      if (!json) process.stdout.write(`${result}  ${step.name}: ${step.detail}\n`)
    }
    const failed = steps.filter(({ passed }) => !passed).length
    const skipped = steps.filter((step) => step.skipped).length
    if (json) process.stdout.write(`${JSON.stringify({ steps }, null, 2)}\n`)
    reportCounts('release', { passed: steps.length - failed - skipped, failed, skipped })
    return failed === 0 ? 0 : 1
  } finally {
    for (const name of signals) process.off(name, abort)
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string} path
 * @param {{ readonly registry?: string | undefined, readonly repository?: string | undefined }} names
 * @param {boolean} json
 */
async function prepare(path, { registry, repository }, json) {
  if (registry === undefined) throw new SetUpError(`--prepare: expected --registry <name>\n\n${usage}`)
  if (repository !== undefined && !/^https:\/\/[^\s]+(?<!\/|\.git)$/.test(repository))
    throw new SetUpError(
      `--repository ${repository}: expected https://<host>/<path>, without .git and a slash at its end`,
    )
  const folder = resolve(path)
  if (existsSync(folder) && (await readdir(folder)).length > 0)
    throw new SetUpError(`--prepare ${path}: expected an empty folder`)
  await mkdir(folder, { recursive: true })
  const release = await prepareRelease(folder, registry, repository)
  if (json) process.stdout.write(await readFile(join(folder, 'release.json'), 'utf8'))
  else {
    for (const { reference, bytes } of Object.values(release.images))
      for (const [architecture, size] of Object.entries(bytes))
        process.stdout.write(`${reference}  ${architecture}  ${(size / 1e6).toFixed(1)} MB\n`)
    say(`version ${release.version} is in ${folder}`)
  }
  return 0
}

/** @param {readonly string[]} args */
function readArguments(args) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'dry-run': { type: 'boolean', default: false },
        once: { type: 'boolean', default: false },
        cluster: { type: 'boolean', default: false },
        prepare: { type: 'string' },
        registry: { type: 'string' },
        repository: { type: 'string' },
        output: { type: 'string', short: 'o', default: 'text' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new SetUpError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  }
}
