import { type ProxySubject, proxyCommonName, type TrustDomain, parseProxyUUID } from '@osm-ts/core'
import {
  type EnrolmentRule,
  findSidecarContainer,
  isEnrolled,
  type KubernetesApi,
  type KubernetesObject,
  type MountingContainer,
  type PodCertificateRequest,
  proveKey,
  proxyUuidLabel,
  resourceTypes,
  type SidecarVolume,
  uuidOfVolume,
} from '@osm-ts/kubernetes'
import { isOsmError, type ProxyUUID } from '@osm-ts/driver-api'

/** What a {@link PodRequestChecker} goes by. */
export interface PodRequestCheckerOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'list'>
  readonly enrolment: EnrolmentRule
  readonly trustDomain: TrustDomain
  readonly signerName: string
}

/** A request that will never be right. */
export class RequestDenied extends Error {
  override readonly name = 'RequestDenied'
  /** Of the condition: a word in upper camel case. */
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

interface PodFields {
  readonly spec?: {
    readonly serviceAccountName?: string
    readonly nodeName?: string
    readonly containers?: readonly MountingContainer[]
    readonly initContainers?: readonly MountingContainer[]
    readonly volumes?: readonly SidecarVolume[]
  }
  readonly status?: { readonly phase?: string }
}

const { Namespace, Pod, ServiceAccount } = resourceTypes
/** Pods that carry the uuid of one sidecar and are looked at: a copy or two. */
const MAX_CLAIMS = 50

/**
 * Checks whether a PodCertificateRequest asks for the certificate of a sidecar of the mesh.
 *
 * Everything is read from the API server again: what a request says counts only where it is what the API server has stored. So a request that was not made by a kubelet
 * gets no other identity than that of a pod which runs.
 */
export class PodRequestChecker {
  readonly #options: PodRequestCheckerOptions

  constructor(options: PodRequestCheckerOptions) {
    this.#options = options
  }

  /**
   * Gives the sidecar that a certificate is asked for, as the holder of its key.
   *
   * @throws RequestDenied, or a KubernetesError if the API server does not answer
   */
  async check(request: PodCertificateRequest, signal: AbortSignal): Promise<ProxySubject> {
    const { signerName, trustDomain } = this.#options
    const { namespace, serviceAccount } = request
    if (request.signerName !== signerName)
      throw new RequestDenied('WrongSigner', `the signer of this mesh is ${signerName}, not ${request.signerName}`)
    if (request.userAnnotations.length > 0)
      throw new RequestDenied('UnknownAnnotation', `the signer knows no annotation ${request.userAnnotations[0] ?? ''}`)
    const publicKey = keyOf(request)
    await this.#checkNamespace(namespace, signal)
    const pod = await this.#podOf(request, signal)
    const uuid = this.#sidecarOf(pod)
    await this.#checkAccount(request, signal)
    await this.#checkClaim(pod, uuid, signal)
    const account = { namespace, name: serviceAccount.name }
    const commonName = proxyCommonName({ uuid, serviceAccount: account }, trustDomain)
    return { kind: 'proxy', uuid, serviceAccount: account, holder: { id: request.uid, commonName, publicKey } }
  }

  async #checkNamespace(name: string, signal: AbortSignal): Promise<void> {
    const found = await this.#options.api.get(Namespace, { namespace: '', name }, signal)
    if (found !== undefined && isEnrolled(name, found.metadata.labels ?? {}, this.#options.enrolment)) return
    const { meshName } = this.#options.enrolment
    throw new RequestDenied('NotEnrolled', `namespace ${name} is not of mesh ${meshName}`)
  }

  async #podOf(
    { namespace, pod, serviceAccount, nodeName }: PodCertificateRequest,
    signal: AbortSignal,
  ): Promise<KubernetesObject & PodFields> {
    const found = await this.#options.api.get(Pod, { namespace, name: pod.name }, signal)
    if (found?.metadata.uid !== pod.uid)
      throw new RequestDenied('PodNotFound', `there is no pod ${namespace}/${pod.name} with uid ${pod.uid}`)
    const { spec = {}, status = {} } = found as PodFields
    const account = spec.serviceAccountName || 'default'
    if (account !== serviceAccount.name)
      throw new RequestDenied(
        'WrongAccount',
        `the pod runs under service account ${account}, not ${serviceAccount.name}`,
      )
    if (spec.nodeName !== nodeName)
      throw new RequestDenied('WrongNode', `the pod runs on node ${spec.nodeName ?? ''}, not on ${nodeName}`)
    if (status.phase === 'Succeeded' || status.phase === 'Failed')
      throw new RequestDenied('PodNotFound', `the pod has ended: it is ${status.phase}`)
    return found
  }

  /** Names and uids of accounts of one name differ: it may have been deleted and made again by someone else. */
  async #checkAccount({ namespace, serviceAccount }: PodCertificateRequest, signal: AbortSignal): Promise<void> {
    const found = await this.#options.api.get(ServiceAccount, { namespace, name: serviceAccount.name }, signal, {
      answer: 'metadata',
    })
    if (found?.metadata.uid !== serviceAccount.uid)
      throw new RequestDenied(
        'WrongAccount',
        `there is no service account ${namespace}/${serviceAccount.name} with uid ${serviceAccount.uid}`,
      )
  }

  #sidecarOf({ metadata, spec = {} }: KubernetesObject & PodFields): ProxyUUID {
    const uuid = metadata.labels?.[proxyUuidLabel] ?? ''
    const volume = spec.volumes?.find((each) => uuidOfVolume(each) === uuid)
    const isOurs = volume?.projected?.sources?.some(
      ({ podCertificate }) => podCertificate?.signerName === this.#options.signerName,
    )
    if (isOurs !== true || findSidecarContainer(spec, uuid) === undefined)
      throw new RequestDenied(
        'NoSidecar',
        `the pod has no sidecar of this mesh that its label ${proxyUuidLabel} names; the injector sets both`,
      )
    try {
      return parseProxyUUID(uuid)
    } catch (error) {
      throw new RequestDenied('NoSidecar', isOsmError(error) ? error.message : 'no uuid')
    }
  }

  /** Who can create pods can copy one with its volumes. The uuid is that of the oldest. */
  async #checkClaim({ metadata }: KubernetesObject, uuid: ProxyUUID, signal: AbortSignal): Promise<void> {
    const { namespace = '' } = metadata
    const selection = { namespace, labelSelector: `${proxyUuidLabel}=${uuid}`, limit: MAX_CLAIMS }
    const { items } = await this.#options.api.list(Pod, selection, signal)
    const older = items.find((each) => {
      const { spec = {} } = each as PodFields
      return isOlder(each, metadata) && spec.volumes?.some((volume) => uuidOfVolume(volume) === uuid) === true
    })
    if (older !== undefined)
      throw new RequestDenied('CopiedSidecar', `pod ${older.metadata.name} has the sidecar ${uuid} already`)
  }
}

function keyOf({ proof, pod }: PodCertificateRequest): Buffer {
  if (proof === undefined)
    throw new RequestDenied('InvalidRequest', 'the request must have a key in exactly one of its two forms')
  const key = proveKey(proof, pod.uid)
  if (Buffer.isBuffer(key)) return key
  throw new RequestDenied(key.reason, key.message)
}

function isOlder(
  { metadata: { uid = '', creationTimestamp = '' } }: KubernetesObject,
  than: KubernetesObject['metadata'],
): boolean {
  if (uid === than.uid) return false
  const { uid: otherUid = '', creationTimestamp: otherTime = '' } = than
  return creationTimestamp === otherTime ? uid < otherUid : creationTimestamp < otherTime
}
