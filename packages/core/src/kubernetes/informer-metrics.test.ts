import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { expect, it } from '@jest/globals'

import { Metrics } from '../observability/metrics.js'
import { informerMeter } from './informer-metrics.js'
import { resourceTypes } from './resource-types.js'

const page = fileURLToPath(new URL('../../../../docs/reference/metrics.md', import.meta.url))

it('documents the metrics of informers, no more and no less', async () => {
  const metrics = new Metrics()
  informerMeter(metrics, resourceTypes.Pod)
  const { body } = await metrics.render()
  const served = [...body.matchAll(/^# TYPE (osm_kubernetes\w+) (\w+)$/gm)].map(([, ...words]) => words)
  const documented = [...(await readFile(page, 'utf8')).matchAll(/^\| `(osm_kubernetes\w+)`\s*\| (\w+)/gm)]
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
