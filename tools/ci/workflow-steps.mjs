/**
 * Runs the shell steps of workflows as their host does, with programs that only write down how they are called.
 */
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'

/** @typedef {Readonly<Record<string, string>>} Variables */
/** @typedef {{ readonly env?: Variables, readonly steps?: readonly { readonly run?: string, readonly env?: Variables }[] }} Job */
/** @typedef {{ readonly script: string, readonly code: number, readonly output: string, readonly calls: readonly string[] }} Ran calls: lines of commands */

/** They read all of their input, as programs may that ask a user. They publish, install, or take minutes. Each prints what steps read of it. */
const recorded = /** @type {Readonly<Record<string, string>>} */ ({
  'apt-get': '',
  cosign: '',
  gh: '',
  git: '',
  go: '/home/runner/go',
  helm: 'Digest: sha256:abc',
  npm: '',
  skopeo: '',
  sudo: '',
})
/** Steps install these with Go, and have to add their folder to the path. */
const installed = ['cosign', 'helm']
/** A step that calls another program has to be looked at: these are in every image that jobs run in. */
const real = ['awk', 'bash', 'cat', 'mkdir', 'mv', 'sed', 'tee']

/**
 * @param {string} path of a workflow below the root
 * @returns {Promise<{ readonly env?: Variables, readonly jobs: Readonly<Record<string, Job>> }>}
 */
export async function readWorkflow(path) {
  return parse(await readFile(join(root, path), 'utf8'))
}

/**
 * @param {Job} job
 * @param {string} folder the checkout; /root is a folder in it
 * @param {Variables} variables of the host and of the workflow
 * @param {Variables} expressions values by the text of an expression
 * @returns {Promise<readonly Ran[]>} each step with a script, up to the first that fails
 * @throws Error for an expression without a value
 */
export async function runSteps(job, folder, variables, expressions) {
  const home = join(folder, 'root')
  const programs = await recordingPrograms(folder, join(home, 'go/bin'))
  const results = []
  for (const { run: script, env } of job.steps ?? []) {
    if (script === undefined) continue
    const log = join(programs, 'calls.txt')
    await writeFile(log, '')
    const given = Object.entries({ ...variables, ...job.env, ...env }).map(([name, value]) => [
      name,
      evaluate(value, expressions).replaceAll(/^\/root(?=\/|$)/g, home),
    ])
    const text = evaluate(script, expressions).replaceAll(/(?<![\w.])\/root(?=\/)/g, home)
    const fixed = {
      PATH: programs,
      CALLS: log,
      GITHUB_OUTPUT: join(folder, 'output.txt'),
      GITHUB_PATH: join(folder, 'path.txt'),
    }
    const summary = { GITHUB_STEP_SUMMARY: join(folder, 'summary.txt') }
    const { code, stdout, stderr } = await run('/bin/bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', text], {
      cwd: folder,
      env: { ...Object.fromEntries(given), ...fixed, ...summary },
    })
    const calls = (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '')
    results.push({ script, code, output: `${stdout.toString()}${stderr}`, calls })
    if (code !== 0) break
  }
  return results
}

/**
 * @param {string} text
 * @param {Variables} expressions
 */
function evaluate(text, expressions) {
  return text.replaceAll(/\$\{\{\s*(.*?)\s*\}\}/g, (_whole, expression) => {
    const value = expressions[expression]
    if (value === undefined) throw new Error(`no value is given for the expression ${expression}`)
    return value
  })
}

/**
 * @param {string} folder
 * @param {string} goBin
 * @returns {Promise<string>} the folder with all programs but the installed ones
 */
async function recordingPrograms(folder, goBin) {
  const programs = join(folder, 'programs')
  for (const place of [programs, goBin]) await mkdir(place, { recursive: true })
  for (const [name, output] of Object.entries(recorded)) {
    const script = `#!/bin/bash\nprintf '%s\\n' "${name} $*" >> "$CALLS"\ncat > /dev/null\n${output === '' ? '' : `echo '${output}'\n`}`
    const path = join(installed.includes(name) ? goBin : programs, name)
    await writeFile(path, script)
    await chmod(path, 0o755)
  }
  await symlink(process.execPath, join(programs, 'node'))
  for (const name of real) {
    const { stdout } = await run('/bin/bash', ['-c', `command -v ${name}`])
    await symlink(stdout.toString().trim(), join(programs, name))
  }
  return programs
}
