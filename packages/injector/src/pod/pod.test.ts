import { describe, expect, it } from '@jest/globals'
import { Ajv } from 'ajv'

import { podOf, readPod } from '../../test/fixture.js'
import type { JsonObject } from '../json/json.js'
import { podSchemas } from './pod.js'

describe('a pod as injection reads it', () => {
  it.each(Object.entries(podSchemas))('has a schema that is one: %s', (_name, schema) => {
    expect(new Ajv().validateSchema(schema)).toBe(true)
  })

  it('is the very pod that came, with what no one knows', () => {
    const pod = podOf({ futureField: [null, 1] }, { spec: { x: null }, metadata: { uid: null } })
    expect(readPod(pod)).toBe(pod)
  })

  it('has none of the known members that are null, as the API server has none', () => {
    const pod = podOf({ ports: null, livenessProbe: { httpGet: { port: 80, host: null }, x: null } })
    expect(readPod(pod).spec.containers).toEqual([
      { name: 'app', image: 'example/app:1', livenessProbe: { httpGet: { port: 80 }, x: null } },
    ])
  })

  it.each<[string, JsonObject]>([
    ['spec is not a specification of a pod', {}],
    ['spec.containers is not a list of containers', { spec: {} }],
    ['spec.containers is not a list of containers', { spec: { containers: [] } }],
    ['spec.containers[0].name is not a name of a container', { spec: { containers: [{ image: 'x' }] } }],
    ['spec.containers[1] is not a container with a name', { spec: { containers: [{ name: 'a' }, 'b'] } }],
    ['spec.initContainers is not a list of containers', { spec: { containers: [{ name: 'a' }], initContainers: {} } }],
    ['metadata.annotations.a/b is not text', { ...podOf(), metadata: { annotations: { 'a/b': 8080 } } }],
    ['spec.containers[0].ports[0].containerPort is not a number', podOf({ ports: [{ containerPort: '80' }] })],
    [
      'spec.containers[0].livenessProbe.httpGet.port is not a number or name',
      podOf({ livenessProbe: { httpGet: { port: {} } } }),
    ],
    ['spec.hostNetwork is not true or false', podOf({}, { spec: { hostNetwork: 'yes' } })],
  ])('is refused where %s', (message, pod) => {
    expect(() => readPod(pod)).toThrow(message)
  })
})
