import {
  certificateNames,
  type ConfigEnvironment,
  DriverRegistry,
  MemoryCaStore,
  type MeshConfigSpec,
  meshConfigView,
  parseMeshDomains,
  parseProxyUUID,
  type Problem,
  resolveMeshConfig,
  systemClock,
  issueLeaf,
  TresorProvider,
} from '@osm-ts/core'
import { ProbeBindingsReader } from '@osm-ts/kubernetes'

import { builtInDrivers } from './builtins.js'
import { type Injection, injectPod } from './inject/inject-pod.js'
import type { NamespaceFacts } from './inject/settings.js'
import type { JsonObject } from './json/json.js'
import { PodReader } from './pod/pod.js'
import { InitScripts } from './sidecar/init-containers.js'

/** A mesh that pods are shown to without being created. */
export interface OfflineMesh {
  readonly meshName: string
  readonly osmNamespace: string
  /** `spec` of the MeshConfig; what it leaves out has its default. */
  readonly meshConfig: MeshConfigSpec
  /** Class and images where the MeshConfig names none. */
  readonly environment: ConfigEnvironment
  readonly nativeSidecars: boolean
}

/** Looks at pods as osm-injector does, and creates nothing. */
export interface OfflineInjector {
  /** What is wrong with the MeshConfig. */
  readonly problems: readonly Problem[]
  /** Sidecar classes that it has drivers of. */
  readonly classes: readonly string[]
  inject(pod: JsonObject, namespace: NamespaceFacts, signal: AbortSignal): Promise<Injection>
}

/** Every sidecar has this one: what comes out is for reading and comparing. */
const UUID = parseProxyUUID('00000000-0000-4000-8000-000000000000')
const VALIDITY_MS = 3_600_000

/** The injection of osm-injector, with a certificate authority that is forgotten at the end. */
export async function offlineInjector(mesh: OfflineMesh): Promise<OfflineInjector> {
  const { meshName, osmNamespace, environment, nativeSidecars } = mesh
  const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
  const registry = new DriverRegistry()
  for (const driver of builtInDrivers()) registry.register(driver)
  const provider = await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
    authorities: ['control-plane'],
  })
  const { config, problems } = resolveMeshConfig(
    mesh.meshConfig,
    { osmNamespace, clusterDomain: domains.clusterDomain, environment },
    { object: { kind: 'MeshConfig', namespace: osmNamespace, name: 'osm-mesh-config' }, locate: () => undefined },
  )
  const settings = {
    meshName,
    osmNamespace,
    domains,
    config,
    configView: meshConfigView(config, { meshName, domains }),
    registry,
    environment,
    proxyIdentity: 'secret',
    pullPolicy: 'IfNotPresent',
    nativeSidecars,
    sleepingHooks: true,
    ipFamilies: ['IPv4'],
    nameservers: [],
    trustBundle: provider.trustBundle('control-plane'),
    version: '',
  } as const
  const key = { algorithm: 'ECDSA' } as const
  let issued: ReturnType<typeof issueLeaf<'proxy'>> | undefined
  const ports = {
    newUuid: () => UUID,
    // No one is shown the Secret of a sidecar, so that one certificate is enough for all.
    issue: (subject: Parameters<typeof certificateNames>[0] & { readonly kind: 'proxy' }, signal: AbortSignal) =>
      (issued ??= issueLeaf(
        provider,
        { ...certificateNames(subject, domains), kind: 'proxy', validityMs: VALIDITY_MS, key },
        signal,
      )),
    reusableUuid: () => Promise.resolve(undefined),
    assertPodCertificates: () => Promise.resolve(),
    pods: new PodReader(),
    bindings: new ProbeBindingsReader(),
    scripts: new InitScripts(),
  }
  return {
    problems,
    classes: registry.names(),
    inject: (pod, namespace, signal) =>
      injectPod({ pod, namespace, dryRun: true, signal }, settings, {
        ...ports,
        issue: (subject, issueSignal) => ports.issue({ kind: 'proxy', ...subject }, issueSignal),
      }),
  }
}
