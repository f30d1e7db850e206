import { canonicalJson, type MeshService } from '@osm-ts/driver-api'

import { isAddress } from '../../spec/addresses.js'
import { deepEqual, defineQuery, textKey, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { endpointsOfService, nameInputs, objectInputs, settingInputs } from '../inputs/inputs.js'
import { accessKinds } from './access-objects.js'
import { isUsableAccount } from './accounts.js'
import { contestedAddresses } from './claims.js'
import { retryAnalysis } from './client-rules.js'
import { targetAnalysis } from './grants.js'
import { egressGatewayProblems } from './egress-gateways.js'
import { egressPlan } from './egress-plan.js'
import { egressRules } from './egress-rules.js'
import { exportProblems, importProblems } from './imports.js'
import { ingressOfInstance } from './ingress-of-instance.js'
import { accessProblems } from './ingress.js'
import { nameKey, sameName, type NamespacedName } from './keys.js'
import { outboundProblems } from './outbound.js'
import { objectRefOf, ProblemList, type PolicyProblem } from './problems.js'
import { accountOf } from './proxy.js'
import { routeGroup } from './route-groups.js'
import { calledService, serviceModel } from './services.js'
import { splitAnalysis } from './split-plan.js'

type Context = QueryContext<CatalogState>

/** Everything that was found wrong while policies were computed, each thing once, in no particular order. */
export const allProblems = defineQuery<CatalogState, '', readonly PolicyProblem[]>({
  name: 'all-problems',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context) => {
    const names = (kind: keyof typeof nameInputs): readonly NamespacedName[] => context.get(nameInputs[kind], '')
    const found = [
      ...names('TrafficTarget').flatMap((name) => context.get(targetAnalysis, name)?.problems ?? []),
      ...names('HTTPRouteGroup').flatMap((name) => context.get(routeGroup, name)?.problems ?? []),
      ...names('TrafficSplit').flatMap((name) => context.get(splitAnalysis, name)?.problems ?? []),
      ...names('Retry').flatMap((name) => context.get(retryAnalysis, name)?.problems ?? []),
      ...accessKinds.flatMap((kind) => names(kind).flatMap((name) => context.get(accessProblems, { kind, ...name }))),
      ...names('ServiceImport').flatMap((name) => context.get(importProblems, name)),
      ...names('ServiceExport').flatMap(exportProblems),
      ...names('Egress').flatMap((name) => context.get(egressProblems, name)),
      ...names('EgressGateway').flatMap((name) => context.get(egressGatewayProblems, name)),
      ...names('Service').flatMap((name) => context.get(serviceProblems, name)),
      ...context.get(addressProblems, ''),
      ...names('WorkloadInstance').flatMap((name) => [
        ...instanceProblems(context, name),
        ...context.get(ingressOfInstance, name).problems,
      ]),
    ]
    return [...new Map(found.map((problem) => [canonicalJson(problem), problem])).values()]
  },
})

const egressProblems = defineQuery<CatalogState, NamespacedName, readonly PolicyProblem[]>({
  name: 'egress-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    if (!context.get(settingInputs.egressPolicies, '')) return []
    const { sources = [], problems = [] } = context.get(egressRules, name) ?? {}
    const own = sources
      .flatMap(({ account }) => context.get(egressPlan, account).problems)
      .filter(({ object }) => sameName(object, name))
    return [...problems, ...own]
  },
})

const serviceProblems = defineQuery<CatalogState, MeshService, readonly PolicyProblem[]>({
  name: 'service-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const problems = new ProblemList(objectRefOf('Service', service))
    const answer = context.get(endpointsOfService, service)
    for (const { address } of answer.items)
      if (!isAddress(address)) {
        const message = `${address} is a host name; proxies are given IP addresses only, so this endpoint is left out`
        problems.warning('OSM_POLICY_ENDPOINT_ADDRESS', 'spec.selector', message)
      }
    if (answer.state !== 'known')
      for (const { message } of answer.conditions)
        problems.warning('OSM_POLICY_ENDPOINTS_UNSURE', 'metadata.name', message)
    return [
      ...problems.items,
      ...(context.get(serviceModel, service)?.problems ?? []),
      ...context.get(outboundProblems, service),
    ]
  },
})

const addressProblems = defineQuery<CatalogState, '', readonly PolicyProblem[]>({
  name: 'address-problems',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context) => {
    const services = context.get(nameInputs.Service, '')
    const ports = new Set(
      services.flatMap((service) => context.get(serviceModel, service)?.ports ?? []).map(({ port }) => port),
    )
    return [...ports].flatMap((port) =>
      context.get(contestedAddresses, port).flatMap(({ address, owner, losers }) =>
        losers.flatMap((loser) => {
          const list = new ProblemList(objectRefOf('Service', calledService(loser).parent))
          const message = `connections to ${address}:${port} go to Service ${nameKey(owner)}, whose claim is the stronger or comes first by name`
          list.warning('OSM_POLICY_ADDRESS_CONFLICT', 'spec.ports', message)
          return list.items
        }),
      ),
    )
  },
})

function instanceProblems(context: Context, name: NamespacedName): readonly PolicyProblem[] {
  const instance = context.get(objectInputs.WorkloadInstance, name)
  if (instance === undefined || isUsableAccount(context, accountOf(instance))) return []
  const problems = new ProblemList(objectRefOf('WorkloadInstance', name))
  const message = `service account ${nameKey(accountOf(instance))} can have no certificate, so its proxy gets no policy; rename the account`
  problems.error('OSM_POLICY_ACCOUNT', 'spec.serviceAccountName', message)
  return problems.items
}
