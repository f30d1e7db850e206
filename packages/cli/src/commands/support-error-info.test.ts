import { describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { cliErrorCodes } from '../errors.js'
import { runCli } from '../run-cli.js'

async function errorInfo(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { context, stdout, stderr } = fakeContext()
  const code = await runCli(['support', 'error-info', ...args], context)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

describe('osm support error-info', () => {
  it('tells what a code means, however it is written', async () => {
    for (const written of ['OSM_CLI_FOLDER', 'osm_cli_folder']) {
      const { code, stdout } = await errorInfo(written)
      expect(code).toBe(0)
      expect(stdout).toBe(`Error code      Description\nOSM_CLI_FOLDER  ${cliErrorCodes.OSM_CLI_FOLDER}\n`)
    }
  })

  it('lists the codes of all packages', async () => {
    const { code, stdout } = await errorInfo('-o', 'json')
    expect(code).toBe(0)
    const all = JSON.parse(stdout) as readonly { readonly code: string; readonly description: string }[]
    const areas = new Set(all.map(({ code: known }) => known.split('_')[1]))
    expect([...areas]).toEqual(expect.arrayContaining(['BOOTSTRAP', 'CLI', 'CONTROLLER', 'ENVOY', 'KUBERNETES']))
    for (const [known, description] of Object.entries(cliErrorCodes))
      expect(all).toContainEqual({ code: known, description })
    expect((await errorInfo()).stdout.split('\n')).toHaveLength(all.length + 2)
  })

  it.each([
    ['OSM_NO_SUCH', 'osm support error-info lists all'],
    ['E4013', 'this is a code of Open Service Mesh'],
  ])('ends with 1 for the code %s, which it does not know', async (wanted, hint) => {
    const { code, stdout, stderr } = await errorInfo(wanted)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`osm: there is no error code "${wanted}" [OSM_CLI_ERROR_CODE]`)
    expect(stderr).toContain(hint)
  })
})
