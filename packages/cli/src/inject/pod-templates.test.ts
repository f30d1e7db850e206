import { describe, expect, it } from '@jest/globals'
import type { JsonObject } from '@osm-ts/injector'

import { podTemplate } from './pod-templates.js'

const template = { metadata: { labels: { app: 'books' } } }

describe('podTemplate', () => {
  it.each([
    ['v1', 'Pod', template, ''],
    ['v1', 'PodTemplate', { template }, '/template'],
    ['v1', 'ReplicationController', { spec: { template } }, '/spec/template'],
    ['apps/v1', 'Deployment', { spec: { template } }, '/spec/template'],
    ['apps/v1', 'StatefulSet', { spec: { template } }, '/spec/template'],
    ['apps/v1', 'DaemonSet', { spec: { template } }, '/spec/template'],
    ['apps/v1', 'ReplicaSet', { spec: { template } }, '/spec/template'],
    ['batch/v1', 'Job', { spec: { template } }, '/spec/template'],
    ['batch/v1', 'CronJob', { spec: { jobTemplate: { spec: { template } } } }, '/spec/jobTemplate/spec/template'],
  ])('finds the template of a %s %s without containers, so that it is refused', (apiVersion, kind, members, at) => {
    expect(podTemplate({ apiVersion, kind, ...members }, 'shop')?.at).toBe(at)
  })

  it.each([
    ['argoproj.io/v1alpha1', 'Rollout'],
    ['batch.volcano.sh/v1alpha1', 'Job'],
  ])('knows a template of a %s %s by its containers', (apiVersion, kind) => {
    const bare = { apiVersion, kind, spec: { template } }
    const whole = { apiVersion, kind, spec: { template: { ...template, spec: { containers: [] } } } }
    expect([podTemplate(bare, 'shop')?.at, podTemplate(whole, 'shop')?.at]).toEqual([undefined, '/spec/template'])
  })

  it('names the containers of Knative as Knative does, and those of no other kind', () => {
    const namesIn = (apiVersion: string, containers: readonly JsonObject[]): readonly unknown[] => {
      const object = { apiVersion, kind: 'Service', spec: { template: { spec: { containers: [...containers] } } } }
      const found = podTemplate(object, 'shop')
      const spec = found?.templateOf(found.pod).spec as unknown as {
        readonly containers: readonly { readonly name?: string }[]
      }
      return spec.containers.map(({ name }) => name)
    }
    expect(namesIn('serving.knative.dev/v1', [{ image: 'a' }])).toEqual(['user-container'])
    expect(namesIn('serving.knative.dev/v1', [{ name: 'web', image: 'a' }])).toEqual(['web'])
    expect(namesIn('serving.knative.dev/v1', [{ image: 'a' }, { image: 'b', name: '' }])).toEqual([
      'user-container-0',
      'user-container-1',
    ])
    expect(namesIn('example.com/v1', [{ image: 'a' }])).toEqual([undefined])
  })
})
