import { kindDefinitions, isKind, writtenKind, type Kind } from '../schema/kinds.js'
import type { KindMap } from '../objects.js'
import { grantableReferences, groupOf, isOfGateway } from '../reference-grant.js'
import { didYouMean } from '../suggest.js'
import { doubt, findings, type CheckContext, type Finding } from './check.js'

/** ReferenceGrants that permit nothing the mesh asks about. Those for other programs have kinds that the mesh does not read, and are left alone. */
export function checkReferenceGrant(
  { kind: own, metadata, spec }: KindMap['ReferenceGrant' | 'GatewayReferenceGrant'],
  { snapshot }: CheckContext,
): readonly Finding[] {
  // The Gateway API's kind says much that is for other controllers, of kinds that have the name of one of the mesh.
  const isForOthers = own === 'GatewayReferenceGrant'
  const references = isForOthers ? grantableReferences.filter(({ from }) => isOfGateway(from)) : grantableReferences
  const sources = [...new Set(references.map(({ from }): Kind => from))]
  return findings(
    spec.from.flatMap(({ kind, group, namespace }, index) => {
      const field = `spec.from[${index}]`
      return findings(
        kindFinding({ kind, group }, { asked: sources, isForOthers }, field),
        namespace === metadata.namespace &&
          doubt(
            'OSM_SPEC_NO_EFFECT',
            `${field}.namespace`,
            'is the namespace of this object, which needs no permission',
          ),
      )
    }),
    spec.to.flatMap(({ kind, group, name }, index) => {
      const field = `spec.to[${index}]`
      const targets = references
        .filter(({ from }) => spec.from.some((source) => source.kind === writtenKind(from)))
        .map(({ to }) => to)
      const wrong = kindFinding({ kind, group }, { asked: targets, isForOthers }, field)
      return findings(
        wrong,
        wrong === undefined &&
          name !== undefined &&
          targets.some((target) => target === kind) &&
          isKind(kind) &&
          kind !== 'ServiceAccount' &&
          snapshot.get(kind, metadata.namespace, name) === undefined &&
          doubt('OSM_SPEC_REFERENCE', `${field}.name`, `${kind} ${metadata.namespace}/${name} does not exist`),
      )
    }),
  )
}

/** A doubt if nothing of the kind is asked about. */
function kindFinding(
  { kind, group }: { readonly kind: string; readonly group: string },
  { asked, isForOthers }: { readonly asked: readonly Kind[]; readonly isForOthers: boolean },
  field: string,
): Finding | undefined {
  const known = asked.find((candidate) => writtenKind(candidate) === kind)
  if (known !== undefined) {
    const right = groupOf(known)
    if (group === right) return undefined
    return doubt(
      'OSM_SPEC_NO_EFFECT',
      `${field}.group`,
      `must be ${JSON.stringify(right)} for ${kind}, not ${JSON.stringify(group)}`,
    )
  }
  if (isForOthers) return undefined
  const ours = Object.keys(kindDefinitions).some((name) => name === kind)
  const guess = didYouMean(kind, asked)
  if (!ours && guess === '') return undefined
  const accepted = [...new Set(asked)].join(', ') || 'none with this spec.from'
  return doubt(
    'OSM_SPEC_NO_EFFECT',
    `${field}.kind`,
    `is not asked about here: ${kind}${guess}; accepted are ${accepted}`,
  )
}
