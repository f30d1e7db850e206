import { describe, expect, it } from '@jest/globals'

import { dialledPorts } from './dialled-ports.js'
import type { KindMap } from './objects.js'

type Port = KindMap['Service']['spec']['ports'][number]

describe('the ports at which clients dial a Service', () => {
  const numbersOf = (clusterIP: string, ...ports: readonly Partial<Port>[]): readonly (readonly number[])[] => {
    const spec = { clusterIP, ports: ports.map((port) => ({ protocol: 'TCP', ...port }) as Port) }
    const service = { metadata: { name: 'db', namespace: 'shop' }, spec } as unknown as KindMap['Service'] // as far as it is read
    return dialledPorts(service).map(({ port, index }) => [port, index])
  }

  it('are those that are declared, of TCP only', () => {
    expect(numbersOf('10.0.0.1', { port: 53, protocol: 'UDP' }, { port: 80, targetPort: 8080 })).toEqual([[80, 1]])
  })

  it('are those of workloads too where the Service is headless', () => {
    expect(numbersOf('None', { port: 80, targetPort: 8080 }, { port: 90, targetPort: 90 }, { port: 91 })).toEqual([
      [80, 0],
      [8080, 0],
      [90, 1],
      [91, 2],
    ])
  })

  it('are declared before they are derived, and derived once', () => {
    expect(
      numbersOf('None', { port: 1, targetPort: 3 }, { port: 2, targetPort: 3 }, { port: 4, targetPort: 1 }),
    ).toEqual([
      [1, 0],
      [3, 0],
      [2, 1],
      [4, 2],
    ])
  })

  it('cannot be derived from the name of a port', () => {
    expect(numbersOf('None', { port: 1, targetPort: 'main' })).toEqual([[1, 0]])
  })
})
