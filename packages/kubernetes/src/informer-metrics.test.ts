import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { expect, it } from '@jest/globals'
import { Metrics } from '@osm-ts/core'

import { informerMeter } from './informer-metrics.js'
import { resourceTypes } from './resource-types.js'

const page = fileURLToPath(new URL('../../../docs/reference/metrics.md', import.meta.url))

it('documents the metrics of informers, no more and no less', async () => {
  const metrics = new Metrics()
  informerMeter(metrics, resourceTypes.Pod)
  const { body } = await metrics.render()
  const served = [...body.matchAll(/^# TYPE (osm_k(?:8s|ubernetes)\w+) (\w+)$/gm)].map(([, ...words]) => words)
  const documented = [...(await readFile(page, 'utf8')).matchAll(/^\| `(osm_k(?:8s|ubernetes)\w+)`\s*\| (\w+)/gm)]
  expect(served.length).toBeGreaterThan(0)
  expect(documented.map(([, ...words]) => words)).toEqual(served.toSorted(([a = ''], [b = '']) => a.localeCompare(b)))
})

it('names kinds by their plural and group', async () => {
  const metrics = new Metrics()
  for (const type of [resourceTypes.Pod, resourceTypes.Egress]) informerMeter(metrics, type).ended('list', 'ok')
  const { body } = await metrics.render()
  expect(body).toContain('osm_kubernetes_list_count{resource="pods",outcome="ok"} 1')
  expect(body).toContain('osm_kubernetes_list_count{resource="egresses.policy.openservicemesh.io",outcome="ok"} 1')
})

it('counts what the API server tells of, as OSM names it', async () => {
  const metrics = new Metrics()
  const meter = informerMeter(metrics, resourceTypes.Pod)
  for (const type of ['ADDED', 'MODIFIED', 'DELETED', 'DELETED'] as const) meter.told(type, 'shop')
  const { body } = await metrics.render()
  for (const [type, count] of Object.entries({ added: 1, updated: 1, deleted: 2 }))
    expect(body).toContain(`osm_k8s_api_event_count{type="pod-${type}",namespace="shop"} ${count}`)
})
