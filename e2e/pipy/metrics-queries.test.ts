import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { RunningPrometheus } from '../api/support/prometheus.js'
import { dashboardQueries, type Query, recordingQueries, rulesFile } from '../api/support/queries.js'
import { programs, startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { throughProxy } from '../dataplane/support/traffic.js'
import { account, meshConfig, service, workload } from '../dataplane/support/yaml.js'

/** Class pipy measures no durations. */
const measures = ([place, expression]: Query): boolean => !`${place} ${expression}`.includes('duration')

describe('the expressions of dashboards and rules, on sidecars of class pipy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-prometheus-'))
  let mesh: TestMesh
  let prometheus: RunningPrometheus | undefined
  let traffic: Promise<void> | undefined
  const ending = new AbortController()

  beforeAll(async () => {
    mesh = await startTestMesh(
      {
        'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } })],
        'workloads.yaml': [
          account('shop/client'),
          account('shop/server'),
          service('shop/server', 'server', 8080),
          workload('shop/client', { program: programs.idle }),
          workload('shop/server', { program: programs.http, port: 8080 }),
        ],
      },
      { sidecarClass: 'pipy' },
    )
    traffic = (async () => {
      while (!ending.signal.aborted) {
        await throughProxy(mesh.proxyOf('shop/client'), 'http://server.shop:8080/')
        await sleep(100)
      }
    })()
    const { proxy } = JSON.parse(
      await mesh.debug(`/debug/policy?uuid=${mesh.instance('shop/client').uuid}`),
    ) as ProxyPolicy
    const { address = '', port = 0 } = proxy.listen.metrics ?? {}
    const labels = {
      source_namespace: 'shop',
      source_pod_name: 'client-0',
      source_service: 'client',
      source_workload_name: 'client',
    }
    prometheus = await RunningPrometheus.start(folder, {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [rulesFile],
      scrape_configs: [
        {
          job_name: 'sidecars',
          metrics_path: '/stats/prometheus',
          static_configs: [{ targets: [`${address}:${port}`], labels }],
        },
      ],
    })
  })
  afterAll(async () => {
    ending.abort()
    await traffic
    await prometheus?.stop()
    await mesh.stop()
    rmSync(folder, { recursive: true })
  })

  it('have series in every rule but that of durations', async () => {
    const queries = recordingQueries().filter(measures)
    expect(queries).not.toEqual([])
    expect(await prometheus?.withoutSeries(queries)).toEqual([])
  })

  it.each(['osm-pod-to-service.json', 'osm-service-to-service.json', 'osm-workload-to-service.json'])(
    'have series in every panel of %s but that of durations',
    async (file) => {
      const queries = dashboardQueries(file).filter(measures)
      expect(queries).not.toEqual([])
      expect(await prometheus?.withoutSeries(queries)).toEqual([])
    },
  )
})
