import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { localBin, root } from '../lib/paths.mjs'
import { runAttached } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { nextVersion, readChangesets, releaseNotes, withRelease } from '../release/changesets.mjs'

const usage = `Usage: npm run changelog [-- --release [--date <yyyy-mm-dd>]]

Prints the notes of the next release, made from the files of .changeset. With --release writes them to CHANGELOG.md, gives all packages the new version and
deletes those files; the date is that of today unless --date names another.
`

/**
 * Release notes from changesets.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      release: { type: 'boolean', default: false },
      date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(values.date)) throw new SetUpError(`--date ${values.date}: expected yyyy-mm-dd`)
  const changesets = readChangesets()
  if (changesets.length === 0) throw new SetUpError('.changeset has no changes to release.')
  /** @type {{ readonly version: string }} */
  const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))
  const notes = releaseNotes(`${nextVersion(version, changesets)} (${values.date})`, changesets)
  if (!values.release) {
    process.stdout.write(notes)
    return 0
  }
  const changelog = join(root, 'CHANGELOG.md')
  writeFileSync(changelog, withRelease(readFileSync(changelog, 'utf8'), notes))
  const code = await runAttached(localBin('changeset'), ['version'], {})
  return code === 0 ? runAttached(localBin('prettier'), ['--write', changelog], {}) : code
}
