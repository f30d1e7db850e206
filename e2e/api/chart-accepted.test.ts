import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { resourceTypes } from '@osm-ts/kubernetes'
import { cases, valuesFile } from './chart/cases.js'
import { render } from './chart/render.js'
import { sharedApiServer, type ApiServer } from './harness/index.js'

const signal = AbortSignal.timeout(120_000)
const namespace = 'chart-accepted'

describe('what the chart renders', () => {
  let server: ApiServer

  beforeAll(async () => {
    server = await sharedApiServer()
    const make = async (kind: 'Namespace' | 'ServiceAccount', metadata: { name: string; namespace?: string }) =>
      server.api.create(resourceTypes[kind], { apiVersion: 'v1', kind, metadata }, { signal })
    await make('Namespace', { name: namespace })
    // Nothing makes it here as a controller manager would, and pods without their own account need it.
    await make('ServiceAccount', { name: 'default', namespace })
  })

  it.each(cases)(
    'is accepted by a real API server, without a field that it does not know, with values %s',
    (name) => {
      const items = render(valuesFile(name)).map((manifest) => ({
        ...manifest,
        metadata: { ...manifest.metadata, ...(manifest.metadata.namespace === undefined ? {} : { namespace }) },
      }))
      const { KUBECTL_BIN: kubectl = 'kubectl' } = process.env
      const flags = ['--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '--output=name']
      const { status, stdout, stderr } = spawnSync(
        kubectl,
        ['--kubeconfig', server.kubeconfigPath, 'apply', ...flags, '--filename', '-'],
        { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), encoding: 'utf8', timeout: 100_000 },
      )
      expect([status, stderr]).toEqual([0, ''])
      expect(stdout.trim().split('\n')).toHaveLength(items.length)
    },
    120_000,
  )
})
