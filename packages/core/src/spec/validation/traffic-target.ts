import type { Steps } from '../../async/index.js'
import type { KindMap } from '../objects.js'
import { didYouMean } from '../suggest.js'
import {
  doubt,
  fault,
  findings,
  inEach,
  missing,
  pendingFault,
  unknownAccount,
  type CheckContext,
  type Finding,
} from './check.js'

type Target = KindMap['TrafficTarget']
type Rule = Target['spec']['rules'][number]

/** TrafficTargets that allow less than they seem to. */
export function* checkTrafficTarget(target: Target, context: CheckContext): Steps<readonly Finding[]> {
  const { metadata, spec } = target
  const { destination, rules, sources } = spec
  const namespace = destination.namespace ?? metadata.namespace
  return findings(
    destination.kind !== 'ServiceAccount' &&
      fault(
        'OSM_SPEC_ACCOUNT',
        'spec.destination.kind',
        `must be ServiceAccount, not ${quote(destination.kind)}; the target is ignored`,
      ),
    namespace !== metadata.namespace &&
      fault(
        'OSM_SPEC_TARGET_NAMESPACE',
        'spec.destination.namespace',
        `is ${quote(namespace)}, but the TrafficTarget is in ${quote(metadata.namespace)} and is ignored: ` +
          `set metadata.namespace to ${quote(namespace)}`,
      ),
    destination.kind === 'ServiceAccount' &&
      unknownAccount(context, namespace, destination.name, 'spec.destination.name'),
    destination.port !== undefined &&
      doubt('OSM_SPEC_DEPRECATED', 'spec.destination.port', 'is a field of v1alpha2 and older; use a TCPRoute instead'),
    rules.length === 0 &&
      fault('OSM_SPEC_TARGET_RULES', 'spec.rules', 'is empty: nothing is allowed; name at least one route'),
    sources.length === 0 && doubt('OSM_SPEC_TARGET_RULES', 'spec.sources', 'is empty: no caller is allowed'),
    yield* checkRules(target, context),
    yield* inEach(sources, (source, index) =>
      findings(
        source.kind === 'ServiceAccount'
          ? unknownAccount(context, source.namespace ?? metadata.namespace, source.name, `spec.sources[${index}].name`)
          : doubt(
              'OSM_SPEC_ACCOUNT',
              `spec.sources[${index}].kind`,
              `must be ServiceAccount, not ${quote(source.kind)}; it is not allowed`,
            ),
      ),
    ),
  )
}

function* checkRules(target: Target, context: CheckContext): Steps<readonly Finding[]> {
  const namesOf = matchNames(target, context)
  const found: Finding[] = []
  for (const [index, rule] of target.spec.rules.entries()) {
    for (const finding of yield* checkRule(target, rule, `spec.rules[${index}]`, namesOf, context)) found.push(finding)
    yield
  }
  return found
}

function* checkRule(
  target: Target,
  rule: Rule,
  field: string,
  namesOf: MatchNames,
  context: CheckContext,
): Steps<readonly Finding[]> {
  const { snapshot, suggestions } = context
  const { namespace } = target.metadata
  switch (rule.kind) {
    case 'HTTPRouteGroup': {
      const names = namesOf(rule.name)
      if (names === undefined)
        return [pendingFault('OSM_SPEC_ROUTE', `${field}.name`, missing(context, rule.kind, namespace, rule.name))]
      return yield* inEach(rule.matches ?? [], (name, index) =>
        names.has(name)
          ? []
          : [
              pendingFault(
                'OSM_SPEC_ROUTE',
                `${field}.matches[${index}]`,
                `HTTPRouteGroup ${namespace}/${rule.name} has no match ${quote(name)}${didYouMean(name, names, suggestions)}`,
              ),
            ],
      )
    }
    case 'TCPRoute':
      return findings(
        snapshot.get('TCPRoute', namespace, rule.name) === undefined &&
          pendingFault('OSM_SPEC_ROUTE', `${field}.name`, missing(context, rule.kind, namespace, rule.name)),
        (rule.matches ?? []).length > 0 &&
          doubt(
            'OSM_SPEC_NO_EFFECT',
            `${field}.matches`,
            'has no effect for a TCPRoute, because its ports have no names',
          ),
      )
    default:
      return [
        fault(
          'OSM_SPEC_ROUTE',
          `${field}.kind`,
          `must be HTTPRouteGroup or TCPRoute, not ${quote(rule.kind)}; the whole TrafficTarget is ignored`,
        ),
      ]
  }
}

/** Names of the matches of a group; undefined if there is no such group. */
type MatchNames = (group: string) => ReadonlySet<string> | undefined

/** Reads each group once, however many rules name it. */
function matchNames({ metadata: { namespace } }: Target, { snapshot }: CheckContext): MatchNames {
  const known = new Map<string, ReadonlySet<string> | undefined>()
  return (name) => {
    if (!known.has(name)) {
      const matches = snapshot.get('HTTPRouteGroup', namespace, name)?.spec.matches
      known.set(name, matches && new Set(matches.map((match) => match.name)))
    }
    return known.get(name)
  }
}

const quote = (text: string): string => JSON.stringify(text)
