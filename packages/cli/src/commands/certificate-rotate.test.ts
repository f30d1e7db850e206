import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../test/fake-context.js'
import { PageMesh } from '../../test/page-mesh.js'
import { runCli } from '../run-cli.js'

describe.each(['rotate', 'rollback'])('osm certificate %s', (command) => {
  let mesh: PageMesh

  beforeAll(async () => {
    mesh = await PageMesh.open('/debug/certs', () => ({}))
  })

  afterAll(async () => {
    await mesh.close()
  })

  it('is refused for a standalone mesh, whose files choose its roots', async () => {
    const { context, stderr } = fakeContext({ cwd: mesh.folder })
    expect(await runCli(['certificate', command, 'next'], context)).toBe(1)
    expect(stderr.text).toContain('OSM_CLI_ROTATION')
    expect(stderr.text).toContain('change spec.role of its MeshRootCertificates there')
  })

  it('refuses a timeout that is not a duration', async () => {
    const { context, stderr } = fakeContext({ cwd: mesh.folder })
    expect(await runCli(['certificate', command, '--timeout', 'soon'], context)).toBe(2)
    expect(stderr.text).toContain('--timeout')
  })
})
