import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { PageMesh } from '../../test/page-mesh.js'
import { runCli } from '../run-cli.js'

const root = {
  authority: 'workload',
  subject: 'CN=mesh-root\u001b[31m',
  fingerprint: 'AA:BB:CC:DD:EE:FF:00:11',
  expires: '2036-01-01T00:00:00.000Z',
  signs: true,
  certificates: 7,
}
const former = { ...root, subject: 'CN=former', signs: false, certificates: 2 }
const waiting = {
  authority: 'workload',
  code: 'OSM_CERT_ROTATION',
  severity: 'warning',
  message: 'provider vault does not sign yet',
}

describe('osm certificate status', () => {
  let mesh: PageMesh
  let page: unknown

  beforeAll(async () => {
    mesh = await PageMesh.open('/debug/certs', () => page)
  })

  afterAll(async () => {
    await mesh.close()
  })

  async function status(answer: unknown, ...args: readonly string[]) {
    page = answer
    const { context, stdout, stderr } = fakeContext({ cwd: mesh.folder })
    const code = await runCli(['certificate', 'status', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('shows roots, and ends with 0 where all is in order', async () => {
    const { code, stdout } = await status({
      provider: { name: 'tresor', faults: [] },
      trusted: [root, former],
      certificates: [],
    })
    expect(code).toBe(0)
    expect(stdout).toContain('workload certificates by provider tresor')
    expect(stdout).toMatch(/workload +CN=mesh-root·\[31m +yes +7 +2036-01-01T00:00:00.000Z +AA:BB:CC:DD:EE:FF\n/)
    expect(stdout).toMatch(/workload +CN=former +no +2 /)
  })

  it('tells which roots are those of a Workload API, and counts no certificates of theirs', async () => {
    const spire = { ...former, subject: 'O=SPIFFE', source: 'workload-api', certificates: 0 }
    const { code, stdout } = await status({
      provider: { name: 'tresor', faults: [] },
      trusted: [root, spire],
      certificates: [],
    })
    expect(code).toBe(0)
    expect(stdout).toMatch(/workload +O=SPIFFE +workload-api +- /)
  })

  it('shows that another provider waits, and ends with 1', async () => {
    const { code, stdout } = await status({
      provider: { name: 'tresor', faults: [waiting] },
      trusted: [root],
      certificates: [],
    })
    expect(code).toBe(1)
    expect(stdout).toContain('warning: provider vault does not sign yet [OSM_CERT_ROTATION]')
  })

  it('shows how many sidecars a change waits for', async () => {
    const rotation = { signs: 'AA', sidecars: { connected: 5, missing: 2 } }
    const { stdout } = await status({
      provider: { name: 'tresor', faults: [] },
      trusted: [root],
      rotation,
      certificates: [],
    })
    expect(stdout).toContain('3 of 5 connected sidecars have confirmed their configuration')
  })

  it('writes the same as JSON', async () => {
    const answer = { provider: { name: 'tresor', faults: [waiting] }, trusted: [root], certificates: [] }
    const { code, stdout } = await status(answer, '-o', 'json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      controllers: [{ controller: expect.any(String), provider: answer.provider, trusted: [root] }],
    })
  })

  it('says that an answer of another version cannot be read', async () => {
    const { code, stderr } = await status({ provider: { name: 'tresor' } })
    expect(code).toBe(1)
    expect(stderr).toContain('OSM_CLI_ANSWER')
  })
})
