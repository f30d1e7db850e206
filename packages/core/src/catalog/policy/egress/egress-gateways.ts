import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'
import { compareText } from '@osm-ts/driver-api/policy'

import type { EgressGatewayMode } from '../../../spec/egress-gateway-mode.js'
import { EGRESS_UNCHANGED, globalGatewaysOfNamespace, type CrossReference, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, sameItems, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  gatewaysInNamespace,
  indexInputs,
  nameInputs,
  objectInputs,
  servicesOfAccount,
  settingInputs,
} from '../../inputs/inputs.js'
import { concernsAll, inPrecedence, mayConcern, reportRefused } from '../access/consent.js'
import { gatewayService } from './gateway-service.js'
import { nameKey, sameName, sortedUnique, type NamespacedName, type TargetPortRef } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'

/** Gateways that traffic leaves by, in shares. */
export interface GatewayChoice {
  /** Services and weights in canonical order: equal keys are equal choices, whichever objects make them. */
  readonly key: string
  /** Services of the gateways, usable or not; sorted. */
  readonly services: readonly MeshService[]
  readonly mode: EgressGatewayMode
  /** Sorted by service. Empty: none of the gateways can be used, and nothing leaves. */
  readonly targets: readonly { readonly upstream: TargetPortRef; readonly weight: number }[]
  readonly origin: SourceRef
}

/** An Egress that a rule is about. */
interface RuledEgress {
  readonly egress: NamespacedName
  /** Path of the reference inside the object. */
  readonly field: string
}

interface EgressGatewayRules {
  /** Undefined: the object has no global gateways. */
  readonly global: GatewayChoice | undefined
  readonly rules: readonly { readonly egresses: readonly RuledEgress[]; readonly choice: GatewayChoice }[]
  readonly problems: readonly PolicyProblem[]
}

type Context = QueryContext<CatalogState>
type Entries = NonNullable<KindMap['EgressGateway']['spec']['global']>

/** Share of a gateway that says none. */
const USUAL_WEIGHT = 100
/** What shares are counted in where weights are not integers. */
const PARTS = 10_000

/** What an EgressGateway says; undefined if there is none of that name. */
const egressGatewayRules = defineQuery<CatalogState, NamespacedName, EgressGatewayRules | undefined>({
  name: 'egress-gateway-rules',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const object = context.get(objectInputs.EgressGateway, key)
    if (object === undefined) return undefined
    const { global = [], rules = [] } = object.spec
    const problems = new ProblemList(objectRefOf('EgressGateway', key))
    const choice = (entries: Entries, field: string): GatewayChoice => ({
      ...choiceOf(context, entries, field, problems),
      origin: { object: objectRefOf('EgressGateway', key), field },
    })
    return {
      global: global.length === 0 ? undefined : choice(global, 'spec.global'),
      rules: rules.map(({ egressPolicies, egressGateways }, rule) => ({
        egresses: egressPolicies.map(({ namespace, name }, index) => ({
          egress: { namespace, name },
          field: `spec.rules[${rule}].egressPolicies[${index}]`,
        })),
        choice: choice(egressGateways, `spec.rules[${rule}].egressGateways`),
      })),
      problems: problems.items,
    }
  },
})

/** A gateway that can't be used is left out; the others take its share. */
function choiceOf(
  context: Context,
  entries: Entries,
  field: string,
  problems: ProblemList,
): Omit<GatewayChoice, 'origin'> {
  const shares = sharesOf(entries)
  const named = shares.map((share) => ({ ...share, ...context.get(gatewayService, share.service) }))
  const mode = named.find((gateway) => gateway.mode !== undefined)?.mode ?? 'http2tunnel'
  const targets = named.flatMap(({ upstream, weight, index, ...gateway }): GatewayChoice['targets'] => {
    const at = `${field}[${index}].service`
    if ('code' in upstream) problems.error(upstream.code, at, upstream.message)
    else if (gateway.mode === mode) return [{ upstream, weight }]
    else {
      const message = `is a gateway of mode ${String(gateway.mode)}, and those before it by name are of mode ${mode}, which take precedence; name gateways of one mode`
      problems.error('OSM_POLICY_EGRESS_GATEWAY', at, message)
    }
    return []
  })
  if (!shares.some(({ weight }) => weight > 0))
    problems.warning('OSM_SPEC_NO_EFFECT', field, 'names no gateway with a weight above 0: no traffic leaves the mesh')
  return {
    key: shares.map(({ service, weight }) => `${nameKey(service)}=${weight}`).join(','),
    services: shares.map(({ service }) => service),
    mode,
    targets,
  }
}

interface Share {
  readonly service: NamespacedName
  /** An integer. */
  readonly weight: number
  /** Of the first entry of the service. */
  readonly index: number
}

/** Each service once, sorted. Weights that are not integers, or too large for a proxy, are counted in parts of the whole. */
function sharesOf(entries: Entries): readonly Share[] {
  const shares = new Map<string, Share>()
  for (const [index, { service: name, namespace, weight = USUAL_WEIGHT }] of entries.entries()) {
    const service = { namespace, name }
    const held = shares.get(nameKey(service))
    shares.set(
      nameKey(service),
      held === undefined ? { service, weight, index } : { ...held, weight: held.weight + weight },
    )
  }
  const sorted = [...shares].sort(([a], [b]) => compareText(a, b)).map(([, share]) => share)
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0)
  if (total < 2 ** 32 && sorted.every(({ weight }) => Number.isInteger(weight))) return sorted
  return sorted.map((share) => ({ ...share, weight: Math.ceil((share.weight / total) * PARTS) }))
}

/** Gateways that the objects of a namespace call global: those of the first object with any, by name. */
const globalGatewaysIn = defineQuery<CatalogState, string, GatewayChoice | undefined>({
  name: 'global-gateways-in',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context, namespace) => {
    for (const name of context.get(gatewaysInNamespace, namespace)) {
      const global = context.get(egressGatewayRules, name)?.global
      if (global !== undefined) return global
    }
    return undefined
  },
})

/** Namespaces whose global gateways are for every namespace that has none of its own, the one that holds first. */
const meshWideNamespaces = defineQuery<CatalogState, '', readonly string[]>({
  name: 'mesh-wide-gateway-namespaces',
  keyOf: textKey,
  equal: sameItems,
  compute: (context) => {
    const osmNamespace = context.get(settingInputs.osmNamespace, '')
    if (!context.get(settingInputs.crossNamespace, '').egressGateway) return [osmNamespace]
    const others = sortedUnique(context.get(nameInputs.EgressGateway, '').map(({ namespace }) => namespace))
    return [osmNamespace, ...others.filter((namespace) => namespace !== osmNamespace)]
  },
})

/** Gateways of all traffic of a namespace that no rule is about: its own ones, else those of the mesh. */
export const globalGateways = defineQuery<CatalogState, string, GatewayChoice | undefined>({
  name: 'global-gateways',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context, namespace) => {
    for (const candidate of [namespace, ...context.get(meshWideNamespaces, '')]) {
      const global = context.get(globalGatewaysIn, candidate)
      if (global !== undefined) return global
    }
    return undefined
  },
})

/** Gateways that rules give to an Egress: those of the first rule that names it and may, of objects in their precedence. */
export const gatewaysOfEgress = defineQuery<CatalogState, NamespacedName, GatewayChoice | undefined>({
  name: 'gateways-of-egress',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, egress) => {
    const names = context
      .get(indexInputs.gatewaysByEgress, nameKey(egress))
      .filter(({ namespace }) => mayConcern(context, ruleReference(namespace, egress)))
    for (const name of inPrecedence(context, egress.namespace, names)) {
      const rules = context.get(egressGatewayRules, name)?.rules ?? []
      const rule = rules.find(({ egresses }) => egresses.some((ruled) => sameName(ruled.egress, egress)))
      if (rule !== undefined) return rule.choice
    }
    return undefined
  },
})

function ruleReference(namespace: string, egress: NamespacedName): CrossReference {
  return { from: { kind: 'EgressGateway', namespace }, to: { kind: 'Egress', ...egress } }
}

/**
 * True for services that traffic leaves by. A rule that another one precedes makes none of them, and neither does an object of another namespace that has
 * no permission: accounts behind a gateway leave past the gateways of their own namespace.
 */
const isGateway = defineQuery<CatalogState, MeshService, boolean>({
  name: 'is-gateway',
  keyOf: nameKey,
  equal: (a, b) => a === b,
  compute: (context, service) =>
    context.get(indexInputs.gatewaysByService, nameKey(service)).some((name) => {
      const { namespace } = name
      if (!mayConcern(context, { from: { kind: 'EgressGateway', namespace }, to: { kind: 'Service', ...service } }))
        return false
      const { global, rules = [] } = context.get(egressGatewayRules, name) ?? {}
      const names = ({ services }: GatewayChoice): boolean => services.some((gateway) => sameName(gateway, service))
      return (
        (global !== undefined && names(global) && context.get(globalGatewaysIn, namespace)?.key === global.key) ||
        rules.some(
          ({ egresses, choice }) =>
            names(choice) && egresses.some(({ egress }) => context.get(gatewaysOfEgress, egress)?.key === choice.key),
        )
      )
    }),
})

/** True for accounts of gateways. They leave directly: sent through gateways, their traffic would go round in circles. */
export const isGatewayAccount = defineQuery<CatalogState, ServiceAccountRef, boolean>({
  name: 'is-gateway-account',
  keyOf: nameKey,
  equal: (a, b) => a === b,
  compute: (context, account) =>
    context.get(servicesOfAccount, account).some((service) => context.get(isGateway, service)),
})

/** What is wrong with an EgressGateway, alone and beside others. */
export const egressGatewayProblems = defineQuery<CatalogState, NamespacedName, readonly PolicyProblem[]>({
  name: 'egress-gateway-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const { global, rules = [], problems = [] } = context.get(egressGatewayRules, key) ?? {}
    const found = new ProblemList(objectRefOf('EgressGateway', key))
    const osmNamespace = context.get(settingInputs.osmNamespace, '')
    const holder = global && context.get(globalGatewaysIn, key.namespace)?.origin.object
    if (holder !== undefined && !sameName(holder, key)) {
      const message = `EgressGateway ${nameKey(holder)} already defines the global gateways; only one object of a namespace can define them`
      found.error('OSM_SPEC_CONFLICT', 'spec.global', message)
    }
    if (global !== undefined && !concernsAll(context, 'EgressGateway', key.namespace))
      found.warning('OSM_SPEC_REF_NOT_PERMITTED', 'spec.global', globalGatewaysOfNamespace(key.namespace, osmNamespace))
    for (const { egresses, choice } of rules)
      for (const { egress, field } of egresses) {
        if (context.get(objectInputs.Egress, egress) === undefined)
          found.error('OSM_SPEC_REFERENCE', `${field}.name`, `there is no Egress ${nameKey(egress)}`)
        const reference = ruleReference(key.namespace, egress)
        if (!mayConcern(context, reference)) {
          reportRefused(found, `${field}.namespace`, reference, EGRESS_UNCHANGED)
          continue
        }
        const held = context.get(gatewaysOfEgress, egress)
        if (held === undefined || sameOrigin(held, choice)) continue
        const { object, field: rule = '' } = held.origin
        const owner = sameName(object, key) ? rule : `EgressGateway ${nameKey(object)}`
        const message = `Egress ${nameKey(egress)} already has gateways, by ${owner}; the first rule applies`
        found.error('OSM_SPEC_CONFLICT', field, message)
      }
    return [...problems, ...found.items]
  },
})

function sameOrigin({ origin: a }: GatewayChoice, { origin: b }: GatewayChoice): boolean {
  return a.field === b.field && sameName(a.object, b.object)
}
