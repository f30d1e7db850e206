import type { Objects, Ref } from './objects.js'

const POLICIES = 'policy.openservicemesh.io'
const GATEWAY = 'gateway.networking.k8s.io'

/** A namespace is heard in itself; that of the control plane, where the MeshConfig lies, everywhere; others where a ReferenceGrant lets in their kind. */
export function isHeard(
  objects: Objects,
  speaker: { readonly kind: 'Egress'; readonly namespace: string },
  account: Ref,
): boolean {
  const { kind, namespace } = speaker
  if (namespace === account.namespace || namespace === objects.controlPlane) return true
  if (objects.list('MeshConfig').some(({ spec }) => spec.traffic?.crossNamespace?.egress === true)) return true
  return objects
    .list('ReferenceGrant')
    .filter((grant) => grant.namespace === account.namespace)
    .some(
      ({ spec }) =>
        (spec.from ?? []).some((it) => it.group === POLICIES && it.kind === kind && it.namespace === namespace) &&
        (spec.to ?? []).some(
          (it) => it.group === '' && it.kind === 'ServiceAccount' && (it.name ?? account.name) === account.name,
        ),
    )
}

/** Routes of a kind, as grants name it, in a namespace. */
interface Speaker {
  readonly kind: string
  readonly namespace: string
}

/** True if a route may send requests to a Service: within its namespace, or where a ReferenceGrant of either kind permits it. */
export function mayRoute(objects: Objects, { kind, namespace: home }: Speaker, service: Ref): boolean {
  if (home === service.namespace || home === objects.controlPlane) return true
  return [...objects.list('ReferenceGrant'), ...objects.list('GatewayReferenceGrant')]
    .filter((grant) => grant.namespace === service.namespace)
    .some(
      ({ spec }) =>
        (spec.from ?? []).some((it) => it.group === GATEWAY && it.kind === kind && it.namespace === home) &&
        (spec.to ?? []).some(
          (it) => it.group === '' && it.kind === 'Service' && (it.name ?? service.name) === service.name,
        ),
    )
}

/** Own objects come first, then those of the control plane. */
export function nearness(objects: Objects, { namespace }: Ref, account: Ref): number {
  if (namespace === account.namespace) return 0
  return namespace === objects.controlPlane ? 1 : 2
}
