import { ObjectDecoder, readObjects, tcpServicePorts, tcpVariable, type KindMap } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { inheritedEnvironment, portVariables, withoutClashes } from './variables.js'

const decoder = new ObjectDecoder()

function service(namespace: string, name: string, ports: readonly object[], more: object = {}): KindMap['Service'] {
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { ports, ...more },
  })
  const [object] = readObjects(text, { decoder }).objects
  if (object?.kind !== 'Service') throw new Error('expected a Service')
  return object
}

describe('variables of workloads', () => {
  it('are named as the example programs look for them', () => {
    expect(tcpVariable({ namespace: 'tcp-demo', name: 'tcp-echo' }, 9000)).toBe('OSM_TCP_TCP_ECHO_TCP_DEMO_9000')
  })

  it('tell of ports that no forward proxy leads to', () => {
    const services = [
      service('a', 'db', [
        { port: 5432, appProtocol: 'tcp' },
        { port: 3306, name: 'tcp-server-first-mysql' },
        { port: 443, appProtocol: 'https' },
        { port: 80 },
        { port: 81, appProtocol: 'grpc' },
        { port: 82, appProtocol: 'kubernetes.io/h2c' },
        { port: 53, protocol: 'UDP', appProtocol: 'tcp' },
      ]),
      service('a', 'outside', [{ port: 5432, appProtocol: 'tcp' }], {
        type: 'ExternalName',
        externalName: 'db.example.com',
      }),
    ]
    expect(tcpServicePorts(services).map(({ variable }) => variable)).toEqual([
      'OSM_TCP_DB_A_5432',
      'OSM_TCP_DB_A_3306',
      'OSM_TCP_DB_A_443',
    ])
  })

  it('stand for one service each: of two that would share one only that of the own namespace has it, and others are problems', () => {
    const tcp = [{ port: 1, appProtocol: 'tcp' }]
    const services = tcpServicePorts([service('b-c', 'a', tcp), service('c', 'a-b', tcp)])
    const clash = { code: 'OSM_STANDALONE_VARIABLE_CLASH', severity: 'warning' }
    const theirs = { ...clash, object: { kind: 'Service', namespace: 'b-c', name: 'a' } }
    const own = withoutClashes(services, 'c')
    expect(own.ports.map((it) => it.service)).toEqual([{ namespace: 'c', name: 'a-b' }])
    expect(own.problems).toMatchObject([theirs])
    const { ports, problems } = withoutClashes(services, 'd')
    expect(ports).toEqual([])
    expect(problems).toMatchObject([theirs, { ...clash, object: { kind: 'Service', namespace: 'c', name: 'a-b' } }])
    expect(problems[0]!.message).toContain('OSM_TCP_A_B_C_1')
  })

  it('tell where to listen: by PORT for the first port, and by name or number for each', () => {
    expect(portVariables([{ name: 'main-api', port: 80, localPort: 20_001 }, { port: 9090 }])).toEqual({
      PORT: '20001',
      PORT_MAIN_API: '20001',
      PORT_9090: '9090',
    })
    expect(portVariables([])).toEqual({})
  })

  it('are not mixed with those of the caller', () => {
    const environment = {
      PATH: '/bin',
      HTTP_PROXY: 'x',
      no_proxy: 'x',
      https_proxy: 'x',
      PORT: '1',
      PORT_A: '2',
      HOST: 'me',
      OSM_TCP_A_B_1: 'x',
      REPORT: 'kept',
      EMPTY: undefined,
    }
    expect(inheritedEnvironment(environment)).toEqual({ PATH: '/bin', REPORT: 'kept' })
  })
})
