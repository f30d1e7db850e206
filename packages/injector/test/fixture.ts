import {
  certificateNames,
  DriverRegistry,
  issueLeaf,
  MemoryCaStore,
  type MeshConfigSpec,
  meshConfigView,
  newProxyUUID,
  parseMeshDomains,
  resolveMeshConfig,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { ProbeBindingsReader } from '@osm-ts/kubernetes'
import type { Driver } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

import { InitScripts } from '../src/index.js'
import { type Pod, type PodHead, PodReader } from '../src/pod/pod.js'
import type { InjectionPorts, InjectionRequest, InjectionSettings, JsonObject, NamespaceFacts } from '../src/index.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })

/** MeshConfig of the tests where they say nothing. */
const baseSpec: MeshConfigSpec = {
  sidecar: {
    sidecarClass: 'envoy',
    sidecarImage: 'example/envoy:1',
    sidecarWindowsImage: 'example/envoy-windows:1',
    initContainerImage: 'example/init:1',
  },
}

/** Settings as the injector makes them, from a MeshConfig. */
export function settingsOf(
  spec: MeshConfigSpec = {},
  changes: Partial<InjectionSettings> & { readonly drivers?: readonly Driver[] } = {},
): InjectionSettings {
  const { drivers = [createEnvoyDriver()], ...others } = changes
  const merged = { ...baseSpec, ...spec, sidecar: { ...baseSpec.sidecar, ...spec.sidecar } }
  const { config } = resolveMeshConfig(
    merged,
    { osmNamespace: 'osm-system', clusterDomain: domains.clusterDomain, environment: {} },
    { object: undefined, locate: () => undefined },
  )
  const registry = new DriverRegistry()
  for (const driver of drivers) registry.register(driver)
  return {
    meshName: 'osm',
    osmNamespace: 'osm-system',
    domains,
    config,
    configView: meshConfigView(config, { meshName: 'osm', domains }),
    registry,
    environment: {},
    proxyIdentity: 'secret',
    pullPolicy: 'IfNotPresent',
    nativeSidecars: false,
    sleepingHooks: true,
    ipFamilies: ['IPv4'],
    nameservers: ['10.96.0.10'],
    trustBundle: ['root of the control plane\n'],
    version: 'v1.2.0',
    ...others,
  }
}

/** Ports over a CA in memory. */
export async function portsOf(changes: Partial<InjectionPorts> = {}): Promise<InjectionPorts> {
  const provider = await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
  })
  return {
    newUuid: newProxyUUID,
    issue: (subject, signal) =>
      issueLeaf(
        provider,
        {
          ...certificateNames({ kind: 'proxy', ...subject }, domains),
          kind: 'proxy',
          validityMs: 3_600_000,
          key: { algorithm: 'ECDSA' },
        },
        signal,
      ),
    reusableUuid: () => Promise.resolve(undefined),
    assertPodCertificates: () => Promise.resolve(),
    pods: new PodReader(),
    bindings: new ProbeBindingsReader(),
    scripts: new InitScripts(),
    ...changes,
  }
}

/** A namespace of the mesh in which injection is on. */
export function namespaceOf(changes: Partial<NamespaceFacts> = {}): NamespaceFacts {
  return {
    name: 'shop',
    labels: { 'openservicemesh.io/monitored-by': 'osm' },
    annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
    ...changes,
  }
}

/** The pod as injection reads it. */
export function readPod(pod: JsonObject): Pod {
  return new PodReader().read(pod)
}

/** What decides about the pod. */
export function readHead(pod: JsonObject): PodHead {
  return new PodReader().readHead(pod)
}

/** A pod with one container. */
export function podOf(
  container: JsonObject = {},
  { spec = {}, metadata = {} }: { readonly spec?: JsonObject; readonly metadata?: JsonObject } = {},
): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'books', namespace: 'shop', ...metadata },
    spec: { containers: [{ name: 'app', image: 'example/app:1', ...container }], serviceAccountName: 'books', ...spec },
  }
}

/** A pod with annotations. */
export function annotated(annotations: Readonly<Record<string, JsonValue>>): JsonObject {
  return podOf({}, { metadata: { annotations } })
}

/** A request for a pod. */
export function requestOf(pod: JsonObject, namespace: NamespaceFacts = namespaceOf()): InjectionRequest {
  return { pod, namespace, dryRun: false, signal: new AbortController().signal }
}
