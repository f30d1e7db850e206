import { canonicalJson, type Part, type PartHash, type ProxyPolicy, type SetPart } from '@osm-ts/driver-api/policy'
import { consentNeeded, type Problem, SpecRules } from '@osm-ts/core'

import { MeshFixture } from '../../../core/test/catalog/mesh-fixture.js'
import { ManifestReader } from './manifest.js'
import { CONTROL_PLANE, GATEWAY_NAME } from './names.js'
import type { Scenario } from './scenario.js'

/** What the control plane says of something, as bytes. */
export type Facts = ReadonlyMap<string, string>

/** A fact that is another one after the attack. */
export interface Change {
  /** What it is about: `<subject> > <what>`. */
  readonly key: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The checks of the specification, of a mesh in which namespaces need the consent of others. */
export function specRules(): SpecRules {
  return new SpecRules({
    clusterDomain: 'cluster.local',
    trustDomain: 'cluster.local',
    osmNamespace: CONTROL_PLANE,
    crossNamespace: () => consentNeeded,
    gatewayNames: () => [GATEWAY_NAME],
  })
}

/** What an attack does. */
export interface Observation {
  readonly before: Facts
  readonly after: Facts
  readonly changes: readonly Change[]
}

/** Computes what becomes of a mesh when somebody adds objects to it. */
export class Observer {
  readonly #reader = new ManifestReader()
  readonly #texts = new PartTexts()
  readonly #rules = specRules()

  /** Everything that differs for others than the attacker, and what was said of them before and after. */
  observe({ attacker, mesh, attack }: Scenario): Observation {
    const fixture = new MeshFixture()
    fixture.apply(this.#reader.read(mesh))
    const before = this.#factsOf(fixture, attacker)
    fixture.apply(this.#reader.read(attack))
    const after = this.#factsOf(fixture, attacker)
    return { before, after, changes: changesBetween(before, after) }
  }

  /** What is said of everything outside a namespace. */
  #factsOf(fixture: MeshFixture, attacker: string): Facts {
    const facts = new Map<string, string>()
    const isOther = (namespace: string): boolean => namespace !== attacker
    for (const [proxy, document] of fixture.documents())
      if (isOther(proxy.slice(0, proxy.indexOf('/'))))
        for (const [key, value] of policyFacts(document, this.#texts)) facts.set(`proxy ${proxy} > ${key}`, value)
    const { snapshot, catalog } = fixture
    for (const { metadata } of snapshot.list('Service')) {
      if (!isOther(metadata.namespace)) continue
      const subject = `service ${metadata.namespace}/${metadata.name}`
      facts.set(`${subject} > endpoints`, canonicalJson(catalog.listEndpointsForService(metadata)))
      facts.set(`${subject} > accounts`, canonicalJson(catalog.listServiceAccountsForService(metadata)))
    }
    for (const { metadata, spec } of snapshot.list('WorkloadInstance')) {
      if (!isOther(metadata.namespace)) continue
      const account = { namespace: metadata.namespace, name: spec.serviceAccountName }
      // The certificate of the account names them.
      facts.set(
        `account ${account.namespace}/${account.name} > names`,
        canonicalJson(catalog.getServicesForServiceAccount(account)),
      )
    }
    for (const [key, problem] of [
      ...problemFacts('policy', catalog.problems()),
      ...problemFacts('specification', this.#rules.checkAll(snapshot)),
    ])
      if (isOther(key.namespace)) facts.set(`${key.text} > problems`, problem)
    return facts
  }
}

/** What differs, in the order of keys. */
function changesBetween(before: Facts, after: Facts): readonly Change[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort()
    .map((key) => ({ key, before: before.get(key), after: after.get(key) }))
    .filter((change) => change.before !== change.after)
}

/** Statuses of objects are made of their problems. */
function problemFacts(
  of: string,
  problems: readonly Problem[],
): readonly (readonly [{ readonly namespace: string; readonly text: string }, string])[] {
  const found = new Map<string, { readonly namespace: string; readonly told: string[] }>()
  for (const { object, code, severity, message, field } of problems) {
    const { kind, namespace, name } = object ?? { kind: 'Mesh', namespace: '', name: '' }
    const key = `${kind} ${namespace}/${name}`
    const told = canonicalJson({ code, severity, message, field })
    const known = found.get(key)
    if (known === undefined) found.set(key, { namespace, told: [told] })
    else known.told.push(told)
  }
  return [...found].map(([text, { namespace, told }]) => [
    { namespace, text: `${of} of ${text}` },
    told.sort().join('\n'),
  ])
}

/** What parts say, with everything that they refer to written out. One that was written out is known by its hash. */
class PartTexts {
  readonly #texts = new Map<string, string>()

  /** Of a part. */
  part(hash: string, parts: ProxyPolicy['parts']): string {
    const known = this.#texts.get(hash)
    if (known !== undefined) return known
    const text = this.value(parts[hash as PartHash], parts)
    this.#texts.set(hash, text)
    return text
  }

  /** Of anything that may refer to parts. */
  value(value: unknown, parts: ProxyPolicy['parts']): string {
    return canonicalJson(inline(value, parts))
  }
}

function inline(value: unknown, parts: ProxyPolicy['parts']): unknown {
  if (typeof value === 'string') return Object.hasOwn(parts, value) ? inline(parts[value as PartHash], parts) : value
  if (Array.isArray(value)) return value.map((each) => inline(each, parts))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inline(member, parts)]))
}

/**
 * A policy, part by part: each member of a set, of the rules of the client, and each DNS record alone. So a part that comes changes nothing of the
 * others.
 */
function* policyFacts({ proxy, parts }: ProxyPolicy, texts: PartTexts): Generator<readonly [string, string]> {
  function* members(hash: PartHash, note: string): Generator<readonly [string, string]> {
    const set = parts[hash] as SetPart
    for (const member of set.members) yield [`${set.of} ${member.id}`, `${texts.part(member.hash, parts)}${note}`]
    for (const { hash: inner, shortNames } of set.sets)
      yield* members(inner, shortNames === true ? ' by its short name too' : note)
  }
  const { outbound, upstreams, endpoints, egress, clientRules, dns, ...rest } = proxy
  yield ['itself', texts.value(rest, parts)]
  for (const set of [outbound, upstreams, endpoints, egress]) if (set !== undefined) yield* members(set, '')
  for (const [of, hash] of [
    ['rules', clientRules],
    ['dns', dns],
  ] as const) {
    if (hash === undefined) continue
    // Kind and id say nothing that the proxy does not say itself.
    const { kind: _kind, id: _id, ...said } = parts[hash] as Part
    for (const [name, value] of Object.entries(said)) {
      if (!Array.isArray(value)) yield [`${of} ${name}`, texts.value(value, parts)]
      else for (const element of value) yield [`${of} ${name} ${elementKey(element)}`, texts.value(element, parts)]
    }
  }
}

function elementKey(element: unknown): string {
  if (typeof element === 'string') return element
  const { outbound, egress, name } = element as Readonly<Record<string, string | undefined>>
  return outbound ?? egress ?? name ?? ''
}
