import type { Steps } from '../../async/index.js'
import { formatObjectRef } from '../../problem.js'
import { isDnsDomain } from '../../identity/index.js'
import { isCidr } from '../addresses.js'
import { objectRef, type KindMap } from '../objects.js'
import { doubt, fault, findings, inEach, missing, type CheckContext, type Finding } from './check.js'
import { backendClaim } from './claims.js'

type AccessObject = KindMap['IngressBackend'] | KindMap['AccessControl']
type Backend = AccessObject['spec']['backends'][number]

const protocols = ['http', 'https', 'grpc']

/** IngressBackends and AccessControls that open nothing, or clash. */
export function* checkAccess(object: AccessObject, context: CheckContext): Steps<readonly Finding[]> {
  const { backends, sources } = object.spec
  const seen = new Set<string>()
  const hasPrincipal = sources.some(({ kind }) => kind === 'AuthenticatedPrincipal')
  return findings(
    sources.length === 0 &&
      fault('OSM_SPEC_NO_EFFECT', 'spec.sources', 'is empty: no caller is allowed; add at least one source'),
    backends.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.backends', 'is empty: nothing is opened'),
    yield* inEach(backends, (backend, index) => {
      const claim = backendClaim(object.metadata.namespace, backend)
      const repeated = seen.has(claim)
      seen.add(claim)
      return checkBackend(object, backend, `spec.backends[${index}]`, { repeated, hasPrincipal }, context)
    }),
    yield* inEach(sources, (source, index) => checkSource(source, `spec.sources[${index}]`, context)),
  )
}

function checkBackend(
  object: AccessObject,
  backend: Backend,
  field: string,
  { repeated, hasPrincipal }: { readonly repeated: boolean; readonly hasPrincipal: boolean },
  context: CheckContext,
): readonly Finding[] {
  const { claims } = context
  const { namespace } = object.metadata
  const protocol = backend.port.protocol.toLowerCase()
  const owner = claims.rival(
    object.kind === 'IngressBackend' ? 'ingress' : 'access',
    backendClaim(namespace, backend),
    object,
  )
  const wantsPrincipal = protocol === 'https' && backend.tls?.skipClientCertValidation !== true
  const place = `${backend.name} port ${backend.port.number}`
  return findings(
    repeated &&
      fault('OSM_SPEC_CONFLICT', field, `${place} is already a backend of this object; the first one applies`),
    !repeated &&
      owner !== undefined &&
      fault(
        'OSM_SPEC_CONFLICT',
        field,
        `${place} is already a backend of ${formatObjectRef(objectRef(owner))}, which takes precedence`,
      ),
    !protocols.includes(protocol) &&
      fault(
        'OSM_SPEC_PROTOCOL',
        `${field}.port.protocol`,
        `must be one of ${protocols.join(', ')}, not ${JSON.stringify(backend.port.protocol)}`,
      ),
    wantsPrincipal &&
      !hasPrincipal &&
      fault(
        'OSM_SPEC_PRINCIPAL',
        `${field}.tls`,
        'clients must show a certificate: name at least one source of kind AuthenticatedPrincipal, or set skipClientCertValidation to true',
      ),
    backend.tls !== undefined &&
      protocol !== 'https' &&
      doubt('OSM_SPEC_NO_EFFECT', `${field}.tls`, `has no effect for protocol ${protocol}, only for https`),
    (backend.tls?.sniHosts ?? []).flatMap((host, index) =>
      findings(
        !isDnsDomain(host.toLowerCase().replace(/^\*\./, '')) &&
          fault(
            'OSM_SPEC_HOST',
            `${field}.tls.sniHosts[${index}]`,
            `${JSON.stringify(host)} is not a host name that clients can request`,
          ),
      ),
    ),
    checkService(namespace, backend, field, context),
  )
}

function checkService(
  namespace: string,
  { name, port }: Backend,
  field: string,
  context: CheckContext,
): Finding | undefined {
  const { snapshot } = context
  const service = snapshot.get('Service', namespace, name)
  if (service === undefined)
    return doubt('OSM_SPEC_REFERENCE', `${field}.name`, missing(context, 'Service', namespace, name))
  const members = [...snapshot.workloadsOf(service), ...snapshot.instancesOf(service)]
  const targets = service.spec.ports.flatMap(({ port: own, targetPort = own }) =>
    typeof targetPort === 'number'
      ? [targetPort]
      : members.flatMap(({ spec }) => spec.ports.flatMap((it) => (it.name === targetPort ? [it.port] : []))),
  )
  // A name can't be resolved before there are workloads.
  if (targets.includes(port.number) || targets.length < service.spec.ports.length) return undefined
  return doubt(
    'OSM_SPEC_REFERENCE',
    `${field}.port.number`,
    `is the port of the workloads, not of the Service: Service ${namespace}/${name} leads to ${targets.join(', ') || 'no port'}`,
  )
}

function checkSource(
  { kind, name, namespace }: AccessObject['spec']['sources'][number],
  field: string,
  context: CheckContext,
): readonly Finding[] {
  const { snapshot } = context
  switch (kind) {
    case 'Service':
      if (namespace === undefined || namespace === '')
        return [fault('OSM_SPEC_REFERENCE', `${field}.namespace`, 'is missing: a source of kind Service needs one')]
      return findings(
        // Of namespaces outside the mesh nothing but the endpoints of such Services is read: whether there are any is said where they are used.
        !isUnread(namespace, context) &&
          snapshot.get('Service', namespace, name) === undefined &&
          doubt('OSM_SPEC_REFERENCE', `${field}.name`, missing(context, 'Service', namespace, name)),
      )
    case 'IPRange':
      return findings(
        !isCidr(name) &&
          fault(
            'OSM_SPEC_ADDRESS',
            `${field}.name`,
            `${JSON.stringify(name)} is not an address range such as 10.0.0.0/8`,
          ),
      )
    case 'AuthenticatedPrincipal':
      return findings(
        !isDnsDomain(name.toLowerCase()) &&
          fault(
            'OSM_SPEC_PRINCIPAL',
            `${field}.name`,
            `${JSON.stringify(name)} is not a valid DNS name for a certificate, and allows no caller`,
          ),
      )
  }
}

/** True for a namespace of which nothing is known. */
function isUnread(namespace: string, { snapshot }: CheckContext): boolean {
  return (
    snapshot.get('Namespace', '', namespace) === undefined && snapshot.byNamespace('Service', namespace).length === 0
  )
}
