import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { onPath } from '../setup/system-service.mjs'

/** The workflow signs without keys, by its identity, and writes to the public log. A dry run must do neither. */
const local = ['--allow-http-registry=true']
const unlogged = ['--yes', '--tlog-upload=false', ...local]
const withoutLog = ['--insecure-ignore-tlog=true', ...local]

/** @typedef {(...args: string[]) => Promise<{ code: number, stdout: string, stderr: string }>} Cosign */
/** @typedef {{ readonly reference: string, readonly bills: readonly string[] }} Subject reference: with a digest; bills: paths of its bills of materials */

/**
 * @returns {Promise<string | undefined>} the cosign that COSIGN_BIN names, or that of the PATH
 * @throws SetUpError when the named one does not run
 */
export async function findCosign() {
  const named = process.env.COSIGN_BIN
  if (named === undefined || named === '') return onPath('cosign')
  const { code, stderr } = await run(named, ['version'])
  if (code !== 0) throw new SetUpError(`COSIGN_BIN names ${named}, which does not run.`, stderr)
  return named
}

/**
 * Signs with its own key, attests the bills of materials, and reads both back as a user would. A signature by another key has to be refused.
 * @param {string} cosign
 * @param {string} folder that is empty
 * @param {readonly Subject[]} subjects in a registry
 * @returns {Promise<string>} what was seen
 */
export async function trySignatures(cosign, folder, subjects) {
  /** @type {Cosign} */
  const call = async (...args) => {
    const { code, stdout, stderr } = await run(cosign, args, { cwd: folder, env: { COSIGN_PASSWORD: '' } })
    return { code, stdout: stdout.toString(), stderr }
  }
  /** @type {Cosign} */
  const succeed = async (...args) => {
    const result = await call(...args)
    if (result.code !== 0) throw new Error(`"cosign ${args.join(' ')}" failed with ${result.code}: ${result.stderr}`)
    return result
  }
  for (const name of ['own', 'other']) {
    await mkdir(join(folder, name))
    await succeed('generate-key-pair', '--output-key-prefix', join(folder, name, 'cosign'))
  }
  const key = join(folder, 'own/cosign.key')
  const [own, other] = ['own', 'other'].map((name) => ['--key', join(folder, name, 'cosign.pub'), ...withoutLog])
  for (const { reference, bills } of subjects) {
    await succeed('sign', '--key', key, ...unlogged, '--recursive', reference)
    await succeed('verify', ...(own ?? []), reference)
    const refused = await call('verify', ...(other ?? []), reference)
    if (refused.code === 0) throw new Error(`${reference}: a key that signed nothing verifies it`)
    for (const bill of bills) {
      const type = ['--type', 'cyclonedx']
      await succeed('attest', '--key', key, ...unlogged, ...type, '--predicate', bill, reference)
      const { stdout } = await succeed('verify-attestation', ...(own ?? []), ...type, reference)
      // cosign writes members in the order of their names.
      const expected = JSON.parse(await readFile(bill, 'utf8'))
      if (!predicates(stdout).some((found) => isDeepStrictEqual(found, expected)))
        throw new Error(`${reference}: no attestation has ${bill}`)
    }
  }
  const attested = subjects.reduce((sum, { bills }) => sum + bills.length, 0)
  return `${subjects.length} signatures and ${attested} attestations verified; a foreign key is refused`
}

/**
 * @param {string} output of `cosign verify-attestation`: an envelope a line
 * @returns {readonly unknown[]} what was attested
 */
function predicates(output) {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      /** @type {{ readonly payload: string }} */
      const { payload } = JSON.parse(line)
      /** @type {{ readonly predicate: unknown }} */
      const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString())
      return predicate
    })
}
