import { isOsmError, OsmError, type ProxyUUID, type SidecarPatch, type Capabilities } from '@osm-ts/driver-api'
import type { ProxyCertificate } from '@osm-ts/core'
import {
  bootstrapSecretName,
  formatProbeBindings,
  type KubernetesManifest,
  probeBindingsAnnotation,
  type ProbeBindingsReader,
  proxyUuidLabel,
  sidecarClassAnnotation,
  workloadApiVolume,
} from '@osm-ts/kubernetes'

import { annotations } from '../annotations/annotation.js'
import { readSwitch } from '../annotations/values.js'
import { checkPod, checkPorts, checkSize, checkUsers } from '../decision/check-pod.js'
import { chooseClass } from '../decision/choose-class.js'
import { chooseIdentity } from '../decision/choose-identity.js'
import { decide, type SkippedBy, type SkipReason } from '../decision/decide.js'
import { asDriverFault, DriverFault, isIgnored } from '../decision/driver-fault.js'
import type { InjectorErrorCode } from '../error-codes.js'
import { jsonPatch, type PatchOperation } from '../json/json-patch.js'
import type { JsonObject } from '../json/json.js'
import type { Pod, PodReader } from '../pod/pod.js'
import { rewriteProbes, type RewrittenProbes } from '../probes/rewrite-probes.js'
import { admissionDigest, bootstrapSecret } from '../sidecar/bootstrap-secret.js'
import type { InitScripts } from '../sidecar/init-containers.js'
import { podCertificateVolume } from '../sidecar/pod-certificate-volume.js'
import { BOOTSTRAP_VOLUME, filesFolder, INIT_CONTAINER, sidecarContainerName } from '../sidecar/sidecar-container.js'
import { assemble, type AssembledPod, serviceAccountOf } from './assemble.js'
import { planSidecar } from './plan-sidecar.js'
import { reconcile } from './reconcile.js'
import type { InjectionRequest, InjectionSettings } from './settings.js'
import { strip } from './strip.js'
import { trafficLists } from './traffic-lists.js'
import { portNumber } from '../probes/probe-question.js'

const HOOKS = ['postStart', 'preStop'] as const

const HANDLERS = ['httpGet', 'tcpSocket'] as const

/** What injection needs from outside. */
export interface InjectionPorts {
  /** A uuid for a new sidecar. */
  newUuid(): ProxyUUID
  /** The proxy certificate of a sidecar. */
  issue(
    subject: {
      readonly uuid: ProxyUUID
      readonly serviceAccount: { readonly namespace: string; readonly name: string }
    },
    signal: AbortSignal,
  ): Promise<ProxyCertificate>
  /**
   * The uuid that a pod came with, if the very request that is checked was given it before: its Secret has this digest and belongs to no pod.
   */
  reusableUuid(namespace: string, uuid: string, digest: string, signal: AbortSignal): Promise<ProxyUUID | undefined>
  /**
   * Where kubelets make the keys.
   *
   * @throws OsmError `OSM_INJECT_POD_CERTIFICATES`
   */
  assertPodCertificates(signal: AbortSignal): Promise<void>
  readonly pods: PodReader
  readonly bindings: ProbeBindingsReader
  readonly scripts: InitScripts
}

/** What becomes of a pod. */
export type Injection =
  | {
      readonly outcome: 'skipped'
      readonly reason: SkipReason
      readonly by: SkippedBy
      readonly message: string
      /** True: the pod should have had a sidecar. */
      readonly warns?: true
    }
  | { readonly outcome: 'refused'; readonly error: OsmError }
  | InjectedPod

/** A pod with its sidecar. */
export interface InjectedPod {
  readonly outcome: 'injected'
  readonly message: string
  readonly uuid: ProxyUUID
  readonly sidecarClass: string
  readonly pod: JsonObject
  readonly operations: readonly PatchOperation[]
  /** To be written before the pod; it holds a private key. Absent where the kubelet makes that. */
  readonly secret?: KubernetesManifest
  /** True: there is such a Secret from an earlier look at the same pod. */
  readonly again: boolean
  /** What was decided, one sentence each. */
  readonly notes: readonly string[]
  /** What the user should know, for the answer of the webhook. */
  readonly warnings: readonly string[]
}

/**
 * Decides whether a pod gets a sidecar, and gives it one. Nothing is kept or created here.
 *
 * What a user can put right is an outcome; a rejected promise means that something outside failed.
 */
export async function injectPod(
  request: InjectionRequest,
  settings: InjectionSettings,
  ports: InjectionPorts,
): Promise<Injection> {
  try {
    const decision = decide(ports.pods.readHead(request.pod), request.namespace, settings)
    if (decision.kind === 'inject') return await inject(request, settings, ports, decision.message)
    const { reason, by, message } = decision
    return { outcome: 'skipped', reason, by, message }
  } catch (error) {
    if (error instanceof DriverFault && isIgnored(error, settings.registry)) return withoutSidecar(error)
    if (isOsmError(error)) return { outcome: 'refused', error }
    throw error
  }
}

/** The list of drivers says that pods of the class matter more than their sidecars. */
function withoutSidecar({ sidecarClass, code, message }: DriverFault): Injection {
  return {
    outcome: 'skipped',
    reason: 'driver-fault',
    by: 'driver',
    warns: true,
    message: `admitted without a sidecar, as failurePolicy Ignore of the driver of class ${sidecarClass} says: ${message} [${code}]`,
  }
}

async function inject(
  request: InjectionRequest,
  settings: InjectionSettings,
  ports: InjectionPorts,
  message: string,
): Promise<InjectedPod> {
  const { namespace, signal } = request
  checkSize(request.pod)
  const came = ports.pods.read(request.pod)
  const stripped = strip(came, ports.bindings)
  const pod = stripped?.pod ?? came
  checkPod(pod)
  const { name = '', generateName = '', annotations: podAnnotations = {} } = pod.metadata ?? {}
  const choice = chooseClass(podAnnotations, namespace, settings.config, settings.registry)
  const workloadApi = chooseIdentity({
    pod: podAnnotations,
    namespace,
    workloadApi: settings.workloadApi,
    sidecarClass: choice.sidecarClass,
    capabilities: settings.registry.get(choice.sidecarClass).capabilities,
  })
  const lists = trafficLists(settings.config, podAnnotations)
  const scraped = readSwitch(
    namespace.annotations[annotations.metrics],
    annotations.metrics,
    `namespace ${namespace.name}`,
  )
  const probes = probesOf(pod, settings, lists.inboundPortExclusionList)
  const serviceAccount = { namespace: namespace.name, name: serviceAccountOf(pod) }
  const digest = admissionDigest({
    namespace: namespace.name,
    name,
    generateName,
    serviceAccount: serviceAccount.name,
  })
  const byKubelet = settings.proxyIdentity === 'podCertificate'
  if (byKubelet) {
    checkRenewal(choice.sidecarClass, settings)
    await ports.assertPodCertificates(signal)
  }
  // Without a Secret nothing tells a pod that is shown again from a copy of one.
  const reused =
    stripped?.uuid === undefined || byKubelet
      ? undefined
      : await ports.reusableUuid(namespace.name, stripped.uuid, digest, signal)
  const uuid = reused ?? ports.newUuid()
  const certificate = byKubelet ? undefined : await ports.issue({ uuid, serviceAccount }, signal)
  const known = { uuid, serviceAccount, certificate, workloadApi }
  const question = { request, settings, pod, podAnnotations, choice, lists, probes, ...known }
  const plan = await planSidecar(question).catch((error: unknown) => {
    throw asDriverFault(error, choice.sidecarClass)
  })
  checkTargets(probes, plan.patch)
  checkPorts(
    pod,
    plan.patch,
    probes.bindings.map(({ port }) => port),
  )
  checkUsers(pod, plan.patch.interception?.proxyUid ?? plan.patch.sidecar.security.runAsUser)
  const source = {
    patch: plan.patch,
    uuid,
    folder: filesFolder(choice.sidecarClass),
    known: { namespace: namespace.name, serviceAccount: serviceAccount.name },
    settings,
  }
  const secret = certificate && bootstrapSecret({ ...source, certificate, admission: digest })
  const volume =
    secret === undefined
      ? podCertificateVolume(source)
      : { files: { secret: { secretName: bootstrapSecretName(uuid) } }, annotations: {} }
  const injected = assemble(probes.pod, plan, {
    scripts: ports.scripts,
    settings,
    files: volume.files,
    bindings: probes.bindings,
    replaceOwn: stripped !== undefined,
  })
  const described = withMetadata(injected, {
    labels: { [proxyUuidLabel]: uuid },
    annotations: {
      [sidecarClassAnnotation]: choice.sidecarClass,
      ...(probes.bindings.length === 0 ? {} : { [probeBindingsAnnotation]: formatProbeBindings(probes.bindings) }),
      ...(scraped === true && plan.patch.metrics !== undefined
        ? {
            [annotations.scrape]: 'true',
            [annotations.scrapePort]: String(plan.patch.metrics.port),
            [annotations.scrapePath]: plan.patch.metrics.path,
          }
        : {}),
      ...plan.patch.annotations,
      ...volume.annotations,
    },
  })
  const ownNames = new Set([sidecarContainerName(pod), INIT_CONTAINER, BOOTSTRAP_VOLUME, workloadApiVolume])
  const result = reused === undefined ? described : reconcile(request.pod, described, (name) => ownNames.has(name))
  return {
    outcome: 'injected',
    message,
    uuid,
    sidecarClass: choice.sidecarClass,
    pod: result,
    operations: jsonPatch(request.pod, result),
    ...(secret === undefined ? {} : { secret }),
    again: reused !== undefined,
    notes: [
      message,
      `sidecar class ${choice.sidecarClass}, by ${choice.chosenBy}`,
      ...(workloadApi === undefined ? [] : ['takes its service certificate from SPIRE']),
      ...(stripped === undefined
        ? []
        : [reused === undefined ? 'a copy of a pod with a sidecar: gets one of its own' : 'looked at again']),
      ...probes.notes,
    ],
    warnings: [
      ...probes.warnings,
      ...blockedLifecycleHooks(pod, lists.inboundPortExclusionList),
      ...jobsBlockedBySidecar(pod, {
        native: plan.context.nativeSidecar,
        sidecarClass: plan.sidecarClass,
        capabilities: settings.registry.get(plan.sidecarClass).capabilities,
      }),
    ],
  }
}

/** A certificate that a kubelet asks for lives for a day: a sidecar that reads its files once would lose the control plane. */
function checkRenewal(sidecarClass: string, { registry }: InjectionSettings): void {
  if (registry.get(sidecarClass).capabilities.features.includes('proxy-certificate-renewal')) return
  throw new OsmError<InjectorErrorCode>(
    'OSM_INJECT_CLASS',
    `sidecars of class ${sidecarClass} cannot renew their proxy certificate, as osm.proxyIdentity podCertificate needs; choose another class, or set osm.proxyIdentity to secret`,
  )
}

/** Where nothing is redirected, a kubelet reaches the workload's own ports. */
function probesOf(pod: Pod, { config }: InjectionSettings, excluded: readonly number[]): RewrittenProbes {
  if (config.traffic.interceptionMode !== 'none') return rewriteProbes(pod, excluded)
  return { pod, bindings: [], originals: [], notes: [], warnings: [] }
}

/** What a probe aims at is reached without a certificate: nothing of the sidecar may be, whatever its class listens on. */
function checkTargets({ bindings }: RewrittenProbes, { sidecar: { ports }, interception }: SidecarPatch): void {
  const own = new Set([...ports.map(({ port }) => port), ...(interception?.excludedInboundPorts ?? [])])
  for (const { container, probe, target } of bindings)
    if (own.has(target.port))
      throw new OsmError<InjectorErrorCode>(
        'OSM_INJECT_POD',
        `the ${probe} probe of container ${container} asks port ${target.port}, on which the sidecar listens; name a port of the container`,
      )
}

function withMetadata(
  pod: AssembledPod,
  { labels, annotations: added }: Readonly<Record<'labels' | 'annotations', Readonly<Record<string, string>>>>,
): AssembledPod {
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata?.labels, ...labels },
      annotations: { ...pod.metadata?.annotations, ...added },
    },
  }
}

/**
 * A pod that is to end, such as that of a Job, and whose sidecar no one ends: neither the kubelet, as it does with native ones, nor the control plane, where
 * the class can't.
 */
function jobsBlockedBySidecar(
  { spec: { restartPolicy: policy = '' } }: Pod,
  sidecar: { readonly native: boolean; readonly sidecarClass: string; readonly capabilities: Capabilities },
): readonly string[] {
  const ends = policy === 'Never' || policy === 'OnFailure'
  if (!ends || sidecar.native || sidecar.capabilities.features.includes('workload-end')) return []
  return [
    `spec.restartPolicy ${policy}: the pod does not complete when its containers have ended, because a sidecar of class ${sidecar.sidecarClass} ` +
      `that is no native one goes on running; use native sidecars, or another class`,
  ]
}

/**
 * Lifecycle hooks that come from the kubelet, who has no certificate, to a port that only takes connections with one.
 *
 * They stay as they are. Unlike probes they do something, so that a way past mutual TLS must not be opened for them: anyone who finds it could have a
 * workload shut down.
 */
function blockedLifecycleHooks({ spec }: Pod, excludedPorts: readonly number[]): readonly string[] {
  return [...(spec.initContainers ?? []), ...spec.containers].flatMap((container) =>
    HOOKS.flatMap((hook) =>
      HANDLERS.flatMap((handler) => {
        const action = container.lifecycle?.[hook]?.[handler]
        if (action === undefined || (action.host ?? '') !== '') return []
        const port = portNumber(action.port, container)
        if (port === undefined || excludedPorts.includes(port)) return []
        return [
          `container ${container.name}: lifecycle.${hook}.${handler} on port ${port} comes without a certificate and ` +
            `will fail; use exec, or exclude the port by annotation`,
        ]
      }),
    ),
  )
}
