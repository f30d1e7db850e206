import {
  driverConfig,
  initContainerImage,
  isOlderProxy,
  proxyCommonName,
  proxyServerPort,
  sidecarImage,
  transparentListenAddresses,
  unknownLocality,
  type ProxyCertificate,
} from '@osm-ts/core'
import {
  OsmError,
  type InjectorContext,
  type ProxyUUID,
  type Resources,
  type ServiceAccountRef,
  type SidecarPatch,
} from '@osm-ts/driver-api'
import { requireContract } from '@osm-ts/driver-api/host'

import { mergeResources, readResources } from '../annotations/resources.js'
import type { ClassChoice } from '../decision/choose-class.js'
import type { InjectorErrorCode } from '../error-codes.js'
import type { Pod } from '../pod/pod.js'
import type { RewrittenProbes } from '../probes/rewrite-probes.js'
import { socketOf, type WorkloadApi } from '../sidecar/workload-api.js'
import type { InjectionRequest, InjectionSettings } from './settings.js'
import type { TrafficLists } from './traffic-lists.js'

const OS_LABEL = 'kubernetes.io/os'

/** What a driver is asked with. */
export interface SidecarQuestion {
  readonly request: Pick<InjectionRequest, 'namespace' | 'dryRun' | 'signal'>
  readonly settings: InjectionSettings
  readonly pod: Pod
  readonly podAnnotations: Readonly<Record<string, string>>
  readonly choice: ClassChoice
  readonly lists: TrafficLists
  readonly probes: RewrittenProbes
  readonly uuid: ProxyUUID
  readonly serviceAccount: ServiceAccountRef
  /** Absent: the kubelet of the pod asks for it when the pod starts. */
  readonly certificate: ProxyCertificate | undefined
  /** Absent: the mesh gives the service certificate. */
  readonly workloadApi: WorkloadApi | undefined
}

/** The driver's answer and all that it rests on. */
export interface SidecarPlan {
  readonly patch: SidecarPatch
  readonly context: InjectorContext
  readonly sidecarClass: string
  readonly workloadApi: WorkloadApi | undefined
  readonly podOS: 'linux' | 'windows'
  readonly resources: Required<Resources>
  /** Empty where none is needed. */
  readonly initImage: string
}

/**
 * Asks the driver of a class what has to be beside a workload.
 *
 * @throws OsmError with a code of `OSM_INJECT_*` or `OSM_DRIVER_*`
 */
export async function planSidecar(question: SidecarQuestion): Promise<SidecarPlan> {
  const { settings, pod, choice, request, podAnnotations } = question
  const { config, registry, environment } = settings
  const { sidecarClass } = choice
  if (config.traffic.interceptionMode === 'ebpf') {
    throw new OsmError<InjectorErrorCode>(
      'OSM_INJECT_MODE',
      'MeshConfig has spec.traffic.interceptionMode ebpf, for which there is no node agent in this version; use iptables or none',
    )
  }
  const podOS = operatingSystem(pod)
  const resources = mergeResources(
    readResources(podAnnotations, 'the pod'),
    readResources(request.namespace.annotations, `namespace ${request.namespace.name}`),
    config.sidecar.resources,
  )
  const image = required(
    sidecarImage(config, sidecarClass, podOS, environment),
    `no image is known for sidecars of class ${sidecarClass} on ${podOS}`,
    podOS === 'windows' ? 'sidecarWindowsImage' : 'sidecarImage',
  )
  const { oldestProxyVersion } = registry.get(sidecarClass)
  if (isOlderProxy(image, oldestProxyVersion))
    throw new OsmError<InjectorErrorCode>(
      'OSM_INJECT_IMAGE',
      `image ${JSON.stringify(image)} is too old: class ${sidecarClass} needs version ${oldestProxyVersion ?? ''} or newer of its proxy; ` +
        'correct spec.sidecar.sidecarImage of MeshConfig, or that of its entry in sidecarDrivers',
    )
  const context = contextOf(question, { podOS, image, resources })
  const patch = await registry.patch(context, sidecarClass)
  const needsInit =
    podOS === 'linux' && config.traffic.interceptionMode === 'iptables' && patch.interception !== undefined
  const initImage = needsInit
    ? required(
        initContainerImage(config, sidecarClass, environment),
        'no image is known for the init container',
        'initContainerImage',
      )
    : ''
  return { patch, context, sidecarClass, workloadApi: question.workloadApi, podOS, resources, initImage }
}

function contextOf(
  { request, settings, pod, choice, lists, probes, uuid, serviceAccount, certificate, workloadApi }: SidecarQuestion,
  made: { readonly podOS: 'linux' | 'windows'; readonly image: string; readonly resources: Required<Resources> },
): InjectorContext {
  const { config, domains, osmNamespace } = settings
  const controller = `osm-controller.${osmNamespace}.svc.${domains.clusterDomain}`
  return {
    contract: requireContract(settings.registry.get(choice.sidecarClass)),
    meshName: settings.meshName,
    osmNamespace,
    podNamespace: request.namespace.name,
    pod,
    podOS: made.podOS,
    proxyUUID: uuid,
    proxyCommonName: proxyCommonName({ uuid, serviceAccount }, domains.trustDomain),
    bootstrapCertificate:
      certificate === undefined
        ? { chain: '', expiry: '', serialNumber: '' }
        : {
            chain: certificate.chain,
            expiry: new Date(certificate.expiration).toISOString(),
            serialNumber: certificate.serialNumber,
          },
    configurator: settings.configView,
    driverConfig: driverConfig(config, choice.sidecarClass),
    sidecarImage: made.image,
    pullPolicy: settings.pullPolicy,
    resources: made.resources,
    logLevel: config.sidecar.logLevel,
    ...lists,
    interceptionMode: config.traffic.interceptionMode,
    listen: transparentListenAddresses(settings.ipFamilies, config.sidecar.localDNSProxy.enable),
    locality: unknownLocality,
    nativeSidecar: settings.nativeSidecars && made.podOS === 'linux',
    originalHealthProbes: probes.originals,
    controlPlane: {
      address: controller,
      port: proxyServerPort(config, choice.sidecarClass),
      serverName: controller,
    },
    trustBundle: settings.trustBundle,
    ...(workloadApi === undefined ? {} : { workloadApi: socketOf(workloadApi) }),
    dryRun: request.dryRun,
    signal: request.signal,
  }
}

function operatingSystem({ spec }: Pod): 'linux' | 'windows' {
  const named = spec.os?.name ?? ''
  const os = named === '' ? spec.nodeSelector?.[OS_LABEL] : named
  return os === 'windows' ? 'windows' : 'linux'
}

function required(image: string, problem: string, member: string): string {
  if (image !== '') return image
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_IMAGE',
    `${problem}; set spec.sidecar.${member} of MeshConfig, or that of its entry in sidecarDrivers`,
  )
}
