import { beforeAll, describe, expect, it } from '@jest/globals'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

import { annotated, namespaceOf, podOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import { parseInjectorFlags, workloadApiOf } from '../injector-flags.js'
import type { JsonObject } from '../json/json.js'
import type { WorkloadApi } from '../sidecar/workload-api.js'
import { type Injection, type InjectionPorts, injectPod } from './inject-pod.js'
import type { InjectionSettings } from './settings.js'

const byDriver: WorkloadApi = {
  source: { kind: 'csi', driver: 'csi.spiffe.io' },
  socketName: 'spire-agent.sock',
  isDefault: true,
}
const annotation = 'openservicemesh.io/workload-identity'

describe('a sidecar that takes its service certificate from SPIRE', () => {
  let ports: InjectionPorts
  beforeAll(async () => {
    ports = await portsOf()
  })

  const injection = (pod: JsonObject, settings: InjectionSettings, namespace = namespaceOf()): Promise<Injection> =>
    injectPod(requestOf(pod, namespace), settings, ports)

  async function injected(...args: Parameters<typeof injection>) {
    const result = await injection(...args)
    if (result.outcome !== 'injected') throw new Error(JSON.stringify(result))
    const spec = result.pod.spec as Readonly<Record<string, readonly JsonObject[] | undefined>>
    const mounting = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
      .filter(({ volumeMounts = [] }) =>
        (volumeMounts as readonly JsonObject[]).some(({ name }) => name === 'osm-workload-api'),
      )
      .map(({ name }) => name)
    const volume = spec.volumes?.find(({ name }) => name === 'osm-workload-api')
    const { data } = result.secret as unknown as { readonly data: Readonly<Record<string, string>> }
    return { result, volume, mounting, bootstrap: Buffer.from(data['bootstrap.yaml'] ?? '', 'base64').toString() }
  }

  async function refused(...args: Parameters<typeof injection>): Promise<string> {
    const result = await injection(...args)
    if (result.outcome !== 'refused') throw new Error(`it is ${result.outcome}`)
    return `${result.error.code}: ${result.error.message}`
  }

  it('gets the socket by the CSI driver, read-only, and no other container does', async () => {
    const { volume, mounting, result, bootstrap } = await injected(podOf(), settingsOf({}, { workloadApi: byDriver }))
    expect(volume).toEqual({ name: 'osm-workload-api', csi: { driver: 'csi.spiffe.io', readOnly: true } })
    expect(mounting).toEqual(['sidecar'])
    expect(JSON.stringify(result.pod)).toContain(
      '{"name":"osm-workload-api","mountPath":"/run/osm/workload-api","readOnly":true}',
    )
    expect(bootstrap).toContain('{"pipe":{"path":"/run/osm/workload-api/spire-agent.sock"}}')
    expect(result.notes).toContain('takes its service certificate from SPIRE')
  })

  it('gets the socket from a folder of the node', async () => {
    const source = { kind: 'hostPath', path: '/run/agent' } as const
    const { volume } = await injected(podOf(), settingsOf({}, { workloadApi: { ...byDriver, source } }))
    expect(volume).toEqual({ name: 'osm-workload-api', hostPath: { path: '/run/agent', type: 'Directory' } })
  })

  it.each<[string, boolean, string | undefined, string | undefined, boolean]>([
    ['the default', true, undefined, undefined, true],
    ['the default', false, undefined, undefined, false],
    ['the namespace', false, 'spire', undefined, true],
    ['the namespace', true, 'mesh', undefined, false],
    ['the pod', true, 'spire', 'mesh', false],
    ['the pod', false, 'mesh', 'spire', true],
  ])('is chosen by %s (%s, %s, %s)', async (_who, isDefault, ofNamespace, ofPod, expected) => {
    const plain = namespaceOf()
    const namespace =
      ofNamespace === undefined
        ? plain
        : namespaceOf({ annotations: { ...plain.annotations, [annotation]: ofNamespace } })
    const pod = ofPod === undefined ? podOf() : annotated({ [annotation]: ofPod })
    const { volume } = await injected(pod, settingsOf({}, { workloadApi: { ...byDriver, isDefault } }), namespace)
    expect(volume !== undefined).toBe(expected)
  })

  it('is as it would be without, when the pod is shown again after the choice has changed', async () => {
    const first = await injected(podOf(), settingsOf({}, { workloadApi: byDriver }))
    const { volume, bootstrap } = await injected(first.result.pod, settingsOf())
    expect(volume).toBeUndefined()
    expect(bootstrap).not.toContain('workload-api')
    const again = await injected(first.result.pod, settingsOf({}, { workloadApi: byDriver }))
    expect(again.mounting).toEqual(['sidecar'])
  })

  it('is refused with an annotation that says something else', async () => {
    const settings = settingsOf({}, { workloadApi: byDriver })
    expect(await refused(annotated({ [annotation]: 'vault' }), settings)).toBe(
      `OSM_INJECT_ANNOTATION: annotation ${annotation} of the pod: "vault" is not one of mesh, spire`,
    )
    expect(await refused(annotated({ [annotation]: 'spire' }), settingsOf())).toMatch(
      /^OSM_INJECT_ANNOTATION: .* of the pod: spire needs osm\.spire\.enable/,
    )
  })

  it('is refused for a class that cannot, and never gets a certificate of the mesh instead', async () => {
    const envoy = createEnvoyDriver()
    const features = envoy.capabilities.features.filter((feature) => feature !== 'workload-api-certificates')
    const driver = { ...envoy, capabilities: { ...envoy.capabilities, features } }
    const settings = settingsOf({}, { workloadApi: byDriver, drivers: [driver] })
    expect(await refused(podOf(), settings)).toMatch(
      /^OSM_INJECT_CLASS: sidecars of class envoy cannot take .* osm\.workloadIdentity says; .*workload-identity: mesh$/,
    )
    expect((await injected(annotated({ [annotation]: 'mesh' }), settings)).volume).toBeUndefined()
  })

  it('is refused if the pod has a volume of that name itself', async () => {
    const pod = podOf({}, { spec: { volumes: [{ name: 'osm-workload-api', emptyDir: {} }] } })
    expect(await refused(pod, settingsOf())).toMatch(/^OSM_INJECT_POD: spec\.volumes\[0\]\.name osm-workload-api/)
  })
})

describe('the flags of the Workload API', () => {
  const parse = (...flags: readonly string[]) =>
    parseInjectorFlags(['--mesh-name=osm', '--osm-namespace=osm-system', ...flags])

  it('describe where its socket is', () => {
    expect(workloadApiOf(parse())).toBeUndefined()
    expect(workloadApiOf(parse('--workload-identity=spire', '--workload-api-csi-driver=csi.spiffe.io'))).toEqual(
      byDriver,
    )
    expect(workloadApiOf(parse('--workload-api-host-path=/run/a', '--workload-api-socket-name=b.sock'))).toEqual({
      source: { kind: 'hostPath', path: '/run/a' },
      socketName: 'b.sock',
      isDefault: false,
    })
  })

  it.each([
    [['--workload-identity=spire'], /needs --workload-api-csi-driver or --workload-api-host-path/],
    [['--workload-api-csi-driver=a', '--workload-api-host-path=/b'], /exclude each other/],
    [['--workload-api-host-path=run/a'], /must be an absolute path without "\.\.", got "run\/a"/],
    [['--workload-api-host-path=/run/../a'], /got "\/run\/\.\.\/a"/],
    [['--workload-api-host-path=/a', '--workload-api-socket-name=../b'], /must be a file name .*, got "\.\.\/b"/],
  ])('are refused where they contradict each other or name no place: %j', (flags, message) => {
    expect(() => parse(...flags)).toThrow(message)
  })
})
