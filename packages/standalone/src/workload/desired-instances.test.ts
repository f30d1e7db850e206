import { MeshSnapshot, ObjectDecoder, objectKey, readObjects, type Snapshot } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { desiredInstances } from './desired-instances.js'

const decoder = new ObjectDecoder()

function snapshotOf(...documents: readonly string[]): Snapshot {
  const { objects, problems } = readObjects(documents.join('\n---\n'), { file: '/specs/shop/web.yaml', decoder })
  expect(problems).toEqual([])
  return MeshSnapshot.empty().with(objects.map((after) => ({ key: objectKey(after), before: undefined, after })))
}

const head =
  'apiVersion: standalone.openservicemesh.io/v1alpha1\nkind: Workload\nmetadata: { name: web, namespace: shop }\n'

describe('desiredInstances', () => {
  it('makes as many of a workload as there are to be, with arguments after the command', () => {
    const instances = desiredInstances(
      snapshotOf(`${head}spec: { replicas: 2, command: [run, a], args: [b] }`),
      'envoy',
    )
    expect(instances.map(({ key }) => key)).toEqual(['shop/web-0', 'shop/web-1'])
    expect(instances[0]).toMatchObject({
      sidecarClass: 'envoy',
      program: { command: ['run', 'a', 'b'], cwd: '/specs/shop' },
    })
  })

  it('starts nothing for workloads without a command, or at an address', () => {
    expect(desiredInstances(snapshotOf(`${head}spec: {}`), 'envoy')).toEqual([])
    expect(desiredInstances(snapshotOf(`${head}spec: { command: [x], address: 192.0.2.1 }`), 'envoy')).toEqual([])
  })

  it.each([
    ['..', '/specs'],
    ['sub/x', '/specs/shop/sub/x'],
    ['/var', '/var'],
  ])('takes the working directory %s from the file', (workingDir, cwd) => {
    const [instance] = desiredInstances(snapshotOf(`${head}spec: { command: [x], workingDir: ${workingDir} }`), 'envoy')
    expect(instance?.program.cwd).toBe(cwd)
  })

  it('gives no sidecar to workloads that want none, or whose namespace the mesh is to leave alone', () => {
    const [own] = desiredInstances(snapshotOf(`${head}spec: { command: [x], sidecar: false }`), 'envoy')
    expect(own?.sidecarClass).toBeUndefined()
    const ignored =
      'apiVersion: v1\nkind: Namespace\nmetadata: { name: shop, labels: { openservicemesh.io/ignore: "true" } }'
    const [other] = desiredInstances(snapshotOf(`${head}spec: { command: [x] }`, ignored), 'envoy')
    expect(other?.sidecarClass).toBeUndefined()
  })

  it.each([
    ['replicas: 3', true],
    ['restartPolicy: Never', true],
    ['args: [more]', false],
    ['env: [{ name: A, value: b }]', false],
    ['ports: [{ port: 80 }]', false],
    ['serviceAccountName: other', false],
    ['sidecarClass: other', false],
  ])('after the edit %s the instance stays: %s', (edit, stays) => {
    const fingerprint = (spec: string): string | undefined =>
      desiredInstances(snapshotOf(`${head}spec: { ${spec} }`), 'envoy')[0]?.fingerprint
    expect(fingerprint(`command: [x], ${edit}`) === fingerprint('command: [x]')).toBe(stays)
  })
})
