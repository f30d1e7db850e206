import { describe, expect, it } from '@jest/globals'
import { readClusterArguments } from './arguments.mjs'

describe('readClusterArguments', () => {
  it('has defaults for everything but the command', () => {
    expect(readClusterArguments(['up'], {})).toEqual({
      command: 'up',
      provider: 'local',
      name: 'osm',
      nodes: 2,
      ipFamily: 'ipv4',
      registry: 'localhost/osm-ts',
      output: 'text',
      kubeconfig: undefined,
      pushWith: undefined,
    })
  })

  it('takes the kubeconfig of the environment unless it is told another', () => {
    const env = { KUBECONFIG: '/one' }
    expect(readClusterArguments(['status', '--provider=existing'], env)).toMatchObject({ kubeconfig: '/one' })
    expect(readClusterArguments(['status', '--kubeconfig=/two'], env)).toMatchObject({ kubeconfig: '/two' })
  })

  it('takes the image of nodes for kind', () => {
    const args = ['up', '--provider=kind', '--node-image=kindest/node:v1.37.0']
    expect(readClusterArguments(args, {})).toMatchObject({ provider: 'kind', nodeImage: 'kindest/node:v1.37.0' })
  })

  it('gives help wherever it is asked for', () => {
    expect(readClusterArguments(['up', '--help'], {})).toBe('help')
    expect(readClusterArguments(['-h'], {})).toBe('help')
  })

  it.each([
    [[], 'expected one command of up, load, status, down'],
    [['start'], 'not "start"'],
    [['up', 'down'], 'not "up down"'],
    [['up', '--provider=minikube'], '--provider minikube: expected one of local, kind, existing'],
    [['up', '--nodes=0'], '--nodes 0: expected 1 or more'],
    [['up', '--ip-family=ipv6'], '--ip-family ipv6: expected one of ipv4, dual'],
    [['up', '--provider=kind', '--ip-family=dual'], '--ip-family is for provider local'],
    [['up', '-o', 'yaml'], '-o yaml: expected json or text'],
    [['up', '--node-image=kindest/node:v1.37.0'], '--node-image is for provider kind, not local'],
    [['load', '--push-with=/x'], '--push-with is for provider existing'],
    [['up', '--colour'], "Unknown option '--colour'"],
  ])('refuses %j', (args, message) => {
    expect(() => readClusterArguments(args, {})).toThrow(message)
  })
})
