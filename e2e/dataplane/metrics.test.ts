import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from '@jest/globals'
import { startController } from '@osm-ts/controller'
import {
  createLogger,
  FolderSecrets,
  MemoryCaStore,
  Metrics,
  parseMeshDomains,
  SnapshotEndpointsProvider,
  systemClock,
  TresorProvider,
  YamlFolderSource,
} from '@osm-ts/core'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

const page = fileURLToPath(new URL('../../docs/reference/metrics.md', import.meta.url))

describe('the metrics of a controller', () => {
  it('are those of the first table of the reference, no more and no less', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-metrics-'))
    const abort = new AbortController()
    const provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const source = new YamlFolderSource({ folder })
    const controller = await startController({
      meshName: 'osm',
      osmNamespace: 'osm-system',
      domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
      sources: [source],
      secrets: new FolderSecrets(source, () => undefined),
      certificateProvider: provider,
      drivers: [createEnvoyDriver()],
      environment: { OSM_DEFAULT_SIDECAR_CLASS: 'envoy' },
      endpointsProviders: (feed) => [new SnapshotEndpointsProvider({ id: 'folder', ...feed.reader() })],
      enrolment: { mode: 'all' },
      meshConfig: { anyNamespace: true, required: false },
      proxyServer: { address: '127.0.0.1', port: () => 0 },
      bindAddress: '127.0.0.1',
      debugServer: 'always',
      metrics: new Metrics(),
      serverNames: { dnsNames: [], ipAddresses: ['127.0.0.1'] },
      ports: { debug: 0, health: 0 },
      version: { version: '0', git_commit: '', build_date: '' },
      logger: createLogger('test', 'disabled', { write: () => undefined }),
      signal: abort.signal,
    })
    try {
      const text = await (await fetch(`http://127.0.0.1:${controller.healthPort}/metrics`)).text()
      const served = [...text.matchAll(/^# TYPE (osm_\w+) (\w+)$/gm)].map(
        ([, name, type]) => `${name ?? ''} ${type ?? ''}`,
      )
      const [everywhere = ''] = (await readFile(page, 'utf8')).split('\n## On Kubernetes')
      const documented = [...everywhere.matchAll(/^\| `(osm_\w+)`\s*\| (\w+)/gm)].map(
        ([, name, type]) => `${name ?? ''} ${type ?? ''}`,
      )
      expect(documented.length).toBeGreaterThan(5)
      expect(served.toSorted()).toEqual(documented.toSorted())
    } finally {
      abort.abort()
      await controller.stopped
      provider.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
