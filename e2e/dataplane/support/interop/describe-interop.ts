import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { InteropChecks } from './interop-checks.js'
import { startInteropMesh } from './interop-mesh.js'
import { compareMatrix, type MatrixRow, properties, type Property } from './matrix-page.js'
import { capabilitiesOf, type Pair, pairsOf, type SidecarClass, versionOf } from './sidecar-class.js'
import { startVault, type Vault } from './vault.js'

/** What a column of the matrix stands for. */
const meanings: Readonly<Record<Property, string>> = {
  identity: 'identifies the caller, and accepts no other identity',
  http: 'carries requests that a rule allows by path and method, and no others',
  split: 'shares requests out by weight',
  tcp: 'carries TCP for whom a rule names, and closes what others open',
  grpc: 'carries gRPC with the status of the call',
}

/**
 * Tries in one mesh what pairs of classes must be able to do together, and compares what came of it with the matrix in the documentation.
 *
 * @param classes - of the mesh
 * @param isTried - says which of their pairs are; all if left out
 */
export function describeInterop(classes: readonly SidecarClass[], isTried: (pair: Pair) => boolean = () => true): void {
  const pairs = pairsOf(classes).filter(isTried)

  describe(`a mesh with sidecars of class ${classes.join(', ')}`, () => {
    const cells = new Map<string, Partial<Record<Property, string>>>()
    let vault: Vault | undefined
    let running: Awaited<ReturnType<typeof startInteropMesh>> | undefined
    let checks: InteropChecks | undefined

    beforeAll(async () => {
      vault = await startVault()
      running = await startInteropMesh(classes, vault.port)
      checks = new InteropChecks(running.mesh, vault, classes)
    }, 120_000)
    afterAll(async () => {
      await running?.stop()
      await vault?.stop()
    }, 60_000)

    it('has all of them', () => {
      const seen = running?.mesh.mesh.instances().map((instance) => instance.class)
      expect([...(seen ?? [])].sort()).toEqual([...classes, ...classes, ...classes].sort())
    })

    describe.each(pairs)('from class %s to class %s', (...pair) => {
      const unclaimed = pair.filter((each) => !capabilitiesOf(each).protocols.includes('grpc'))
      const own: Partial<Record<Property, string>> = {}
      cells.set(pair.join(' '), own)
      if (unclaimed.length > 0) own.grpc = 'not claimed'

      it.each(properties.filter((name) => own[name] === undefined).map((name) => [meanings[name], name] as const))(
        '%s',
        async (_meaning, property) => {
          await checks?.[property](pair)
          own[property] = 'yes'
        },
      )
    })

    it('matches docs/reference/interop.md', async () => {
      const versions = new Map<SidecarClass, string>()
      for (const each of classes) versions.set(each, await versionOf(each))
      const rows = pairs.map((pair): MatrixRow => {
        const [client, server] = pair
        const own = cells.get(pair.join(' ')) ?? {}
        const missing = properties.filter((property) => own[property] === undefined)
        if (missing.length > 0) throw new Error(`${client} to ${server} was not seen to hold: ${missing.join(', ')}`)
        return {
          pair,
          versions: [versions.get(client) ?? '', versions.get(server) ?? ''],
          cells: own as Record<Property, string>,
        }
      })
      const { expected, found } = compareMatrix(rows)
      expect(found).toEqual(expected)
    })
  })
}
