import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { fakeContext } from '../../../test/fake-context.js'
import { runCli } from '../../run-cli.js'
import type { Findings } from '../findings.js'

interface Written {
  readonly pod?: object
  readonly labels?: object
  readonly annotations?: object
  readonly own?: object
}

const container = { name: 'web', ports: [{ name: 'http', containerPort: 8080 }] }

/** An object with a template of pods, in its usual place. */
function workload(
  kind: string,
  { pod = {}, labels = { app: 'store' }, annotations = {}, own = {} }: Written = {},
): object {
  const template = { metadata: { labels, annotations }, spec: { containers: [container], ...pod } }
  const metadata = { name: 'store', namespace: 'shop', annotations: own }
  if (kind === 'Pod')
    return { apiVersion: 'v1', kind, metadata: { ...metadata, labels, annotations }, spec: template.spec }
  if (kind === 'CronJob')
    return { apiVersion: 'batch/v1', kind, metadata, spec: { jobTemplate: { spec: { template } } } }
  return { apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1', kind, metadata, spec: { template } }
}

const service = (ports: readonly object[], name = 'store'): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop' },
  spec: { selector: { app: 'store' }, ports },
})
const target = (account: string): object => ({
  apiVersion: 'access.smi-spec.io/v1alpha3',
  kind: 'TrafficTarget',
  metadata: { name: 'calls', namespace: 'shop' },
  spec: {
    destination: { kind: 'ServiceAccount', name: account, namespace: 'shop' },
    sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }],
    rules: [{ kind: 'TCPRoute', name: 'any' }],
  },
})
const injection = 'openservicemesh.io/sidecar-injection'
const kinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob', 'Pod'] as const
const templates: Readonly<Record<(typeof kinds)[number], string>> = {
  Deployment: 'spec.template.',
  StatefulSet: 'spec.template.',
  DaemonSet: 'spec.template.',
  ReplicaSet: 'spec.template.',
  Job: 'spec.template.',
  CronJob: 'spec.jobTemplate.spec.template.',
  Pod: '',
}

describe('pod templates in files', () => {
  let cwd: string
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'osm-workloads-'))
  })
  afterEach(() => rmSync(cwd, { recursive: true }))

  async function analyze(...objects: readonly object[]): Promise<Findings> {
    // JSON is YAML; one member on each line, so that lines tell members apart.
    for (const [index, object] of objects.entries())
      writeFileSync(join(cwd, `${index}.yaml`), JSON.stringify(object, undefined, 1))
    const { context, stdout } = fakeContext({ cwd })
    await runCli(['analyze', '.', '-o', 'json'], context)
    return JSON.parse(stdout.text) as Findings
  }
  const ofPods = async (...objects: readonly object[]): Promise<readonly (string | undefined)[][]> =>
    (await analyze(...objects)).findings
      .filter(({ object }) => (kinds as readonly (string | undefined)[]).includes(object?.kind))
      .map(({ code, field, severity }) => [severity, code, field])

  it.each(kinds)('of a %s are checked, and it is not counted as an object of others', async (kind) => {
    const conflict = { containers: [{ ...container, ports: [{ containerPort: 9 }, { containerPort: 15003 }] }] }
    const found = await analyze(workload(kind, { pod: conflict }))
    expect(found.foreignObjects).toBe(0)
    expect(found.findings).toEqual([
      expect.objectContaining({
        code: 'OSM_INJECT_POD',
        severity: 'error',
        object: { kind, namespace: 'shop', name: 'store' },
        field: `${templates[kind]}spec.containers[0].ports[1].containerPort`,
        origin: expect.objectContaining({ kind: 'file', file: expect.stringContaining('0.yaml') }),
      }),
    ])
  })

  it('are found in the line that says so, in YAML with several documents', async () => {
    const lines = [
      '# a comment',
      '---',
      'apiVersion: apps/v1',
      'kind: Deployment',
      'metadata: { name: store, namespace: shop }',
      'spec:',
      '  template:',
      '    metadata:',
      '      annotations:',
      '        openservicemesh.io/inbound-port-exclusion-list: "80, http"',
      '    spec:',
      '      containers: [{ name: web }]',
    ]
    writeFileSync(join(cwd, 'store.yaml'), lines.join('\n'))
    const { context, stdout } = fakeContext({ cwd })
    expect(await runCli(['analyze', 'store.yaml'], context)).toBe(1)
    expect(stdout.text).toMatch(
      /^store\.yaml:10:9: error OSM_INJECT_ANNOTATION {2}Deployment shop\/store: spec\.template\./m,
    )
  })

  it('are right where nothing is wrong, and those outside the mesh are no business of it', async () => {
    const wrong = { pod: { securityContext: { runAsUser: 1500 } } }
    const namespace = (labels: object, annotations: object): object => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shop', labels, annotations },
    })
    expect(await ofPods(workload('Deployment'), service([{ port: 80, targetPort: 'http' }]))).toEqual([])
    expect(await ofPods(workload('Deployment', wrong))).toHaveLength(1)
    expect(await ofPods(workload('Deployment', wrong), namespace({ 'openservicemesh.io/ignore': 'true' }, {}))).toEqual(
      [],
    )
    expect(await ofPods(workload('Deployment', wrong), namespace({}, { [injection]: 'disabled' }))).toEqual([])
    const disabled = { ...wrong, annotations: { [injection]: 'disabled' } }
    expect(await ofPods(workload('Deployment', disabled), namespace({}, {}))).toEqual([])
  })

  it.each([
    [
      'as a label',
      { labels: { [injection]: 'enabled' } },
      'OSM_ANALYZE_KEY_MISPLACED',
      'spec.template.metadata.labels',
    ],
    ['of the Deployment', { own: { [injection]: 'enabled' } }, 'OSM_ANALYZE_KEY_MISPLACED', 'metadata.annotations'],
    [
      'misspelt',
      { annotations: { 'openservicemesh.io/sidecar-inject': 'enabled' } },
      'OSM_ANALYZE_KEY_UNKNOWN',
      'spec.template.metadata.annotations',
    ],
    [
      'with another word',
      { annotations: { [injection]: 'on' } },
      'OSM_ANALYZE_KEY_VALUE',
      'spec.template.metadata.annotations',
    ],
    [
      'of a class that is not allowed',
      { annotations: { 'openservicemesh.io/sidecar-class': 'none' } },
      'OSM_INJECT_CLASS',
      'spec.template.metadata.annotations',
    ],
  ])('with an annotation %s get one finding', async (_case, written, code, field) => {
    const found = await ofPods(workload('Deployment', written))
    expect(found).toEqual([[expect.any(String), code, expect.stringContaining(field)]])
  })

  it.each([
    [
      'the network of the node',
      { hostNetwork: true },
      'warning',
      'OSM_ANALYZE_POD_WITHOUT_SIDECAR',
      'spec.hostNetwork',
    ],
    [
      'the user of the sidecar',
      { securityContext: { runAsUser: 1500 } },
      'error',
      'OSM_INJECT_POD',
      'spec.securityContext.runAsUser',
    ],
    [
      'a lifecycle hook by HTTP',
      { containers: [{ ...container, lifecycle: { preStop: { httpGet: { port: 'http' } } } }] },
      'warning',
      'OSM_ANALYZE_POD_BEHAVIOR',
      'spec.containers[0].lifecycle.preStop.httpGet',
    ],
    [
      'a probe of a port of the sidecar',
      { containers: [{ ...container, livenessProbe: { tcpSocket: { port: 15000 } } }] },
      'warning',
      'OSM_ANALYZE_POD_BEHAVIOR',
      'spec.containers[0].livenessProbe',
    ],
    [
      'a container of the mesh',
      { containers: [{ name: 'osm-init' }] },
      'error',
      'OSM_INJECT_POD',
      'spec.containers[0].name',
    ],
  ])('with %s are found', async (_case, pod, severity, code, field) => {
    expect(await ofPods(workload('Deployment', { pod }))).toEqual([[severity, code, `spec.template.${field}`]])
  })

  it('behind a Service need the port that it names, and one protocol for each', async () => {
    expect(await ofPods(workload('Deployment'), service([{ port: 80, targetPort: 'web' }]))).toEqual([
      ['warning', 'OSM_ANALYZE_POD_PORT', 'spec.template.spec.containers'],
    ])
    const two = [
      service([{ port: 80, targetPort: 'http' }]),
      service([{ name: 'tcp-store', port: 81, targetPort: 8080 }], 'tcp'),
    ]
    expect(await ofPods(workload('Deployment'), ...two)).toEqual([
      ['error', 'OSM_POLICY_PORT_CONFLICT', 'spec.template.spec.containers'],
    ])
  })

  it('behind a Service need a TrafficTarget for their account, where there are any and the mode is not permissive', async () => {
    const behind = [
      workload('Deployment', { pod: { serviceAccountName: 'store' } }),
      service([{ port: 80, targetPort: 8080 }]),
    ]
    const missing = [['warning', 'OSM_ANALYZE_POD_ACCOUNT', 'spec.template.spec.serviceAccountName']]
    expect(await ofPods(...behind, target('other'))).toEqual(missing)
    expect(await ofPods(...behind, target('store'))).toEqual([])
    rmSync(join(cwd, '2.yaml'))
    expect(await ofPods(...behind)).toEqual([])
    const permissive = {
      apiVersion: 'config.openservicemesh.io/v1alpha2',
      kind: 'MeshConfig',
      metadata: { name: 'osm-mesh-config', namespace: 'osm-system' },
      spec: { traffic: { enablePermissiveTrafficPolicyMode: true } },
    }
    expect(await ofPods(...behind, target('other'), permissive)).toEqual([])
  })

  it('keep findings to themselves that an annotation of their object suppresses', async () => {
    const own = { 'openservicemesh.io/suppress-findings': 'OSM_ANALYZE_POD_*' }
    const { findings, suppressed } = await analyze(workload('DaemonSet', { pod: { hostNetwork: true }, own }))
    expect(findings).toEqual([])
    expect(suppressed).toEqual([expect.objectContaining({ code: 'OSM_ANALYZE_POD_WITHOUT_SIDECAR' })])
  })

  it('of other kinds are known by their containers', async () => {
    const rollout = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Rollout',
      metadata: { name: 'store', namespace: 'shop' },
      spec: { template: { spec: { containers: [container], hostNetwork: true } } },
    }
    const { findings, foreignObjects } = await analyze(rollout)
    expect([foreignObjects, findings.map(({ code, object }) => [code, object?.kind])]).toEqual([
      0,
      [['OSM_ANALYZE_POD_WITHOUT_SIDECAR', 'Rollout']],
    ])
  })
})
