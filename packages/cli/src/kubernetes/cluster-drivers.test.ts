import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { DriverState } from '@osm-ts/core'
import type { ResourceType } from '@osm-ts/kubernetes'

import { clusterDrivers, clusterInjectorDrivers } from './cluster-debug.js'
import type { Cluster } from './open-cluster.js'

const acme: DriverState = {
  name: 'acme',
  origin: 'package',
  version: '1.0.0',
  state: 'ready',
  failurePolicy: 'Fail',
}

describe('drivers of a cluster', () => {
  let server: Server
  const asked: string[] = []

  beforeAll(async () => {
    server = createServer((_request, response) => response.end(JSON.stringify({ drivers: [acme] })))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
  })

  const pod = (name: string, ready: boolean) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'osm-system' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  })
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'osm-controller', namespace: 'osm-system', labels: { meshName: 'osm' } },
  }
  const podsOf = (selector = '') => [
    pod(`${selector.replace('app=', '')}-0`, true),
    pod(`${selector.replace('app=', '')}-1`, false),
  ]
  // As far as these questions need a cluster.
  const cluster = {
    osmNamespace: 'osm-system',
    signal: new AbortController().signal,
    api: {
      list: async ({ kind }: ResourceType, { labelSelector }: { readonly labelSelector?: string }) => ({
        items: kind === 'Deployment' ? [deployment] : podsOf(labelSelector),
        resourceVersion: '1',
      }),
    },
    connectToPod: async ({ name }: { readonly name: string }, port: number) => {
      asked.push(`${name}:${port}`)
      return connect((server.address() as AddressInfo).port, '127.0.0.1')
    },
  } as unknown as Cluster

  it('are reported by every running controller, and every injector that is ready', async () => {
    expect(await clusterDrivers(cluster)).toEqual([
      { controller: 'osm-controller-0', drivers: [acme] },
      { controller: 'osm-controller-1', drivers: [acme] },
    ])
    expect(await clusterInjectorDrivers(cluster)).toEqual([{ injector: 'osm-injector-0', drivers: [acme] }])
    expect([...asked].sort()).toEqual(['osm-controller-0:9092', 'osm-controller-1:9092', 'osm-injector-0:9091'])
  })

  it('are not there where the injector does not answer, and the error says who does not', async () => {
    const silent = { ...cluster, connectToPod: () => Promise.reject(new Error('no route')) }
    await expect(clusterInjectorDrivers(silent)).rejects.toMatchObject({
      code: 'OSM_CLI_UNREACHABLE',
      message: 'the injector does not answer at port 9091 of Pod osm-system/osm-injector-0: no route',
    })
  })
})
