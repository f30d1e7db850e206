import type { EndpointWithoutProxy, ParticipationReport, ParticipationState } from '@osm-ts/core'

import { span, type Emphasis } from '../output/style.js'
import { renderTable, renderTitle } from '../output/table.js'

const stateNames: Readonly<Record<ParticipationState, readonly [name: string, emphasis: Emphasis]>> = {
  participant: ['participant', 'good'],
  withoutEndpoint: ['without endpoint', 'warn'],
  disconnected: ['disconnected', 'bad'],
  unclaimed: ['unclaimed', 'warn'],
}

const reasons: Readonly<Record<EndpointWithoutProxy['reason'], string>> = {
  noSidecar: 'the workload has no sidecar',
  notConnected: 'its proxy is not connected',
  otherMesh: 'its sidecar was not started by this mesh',
}

/** The tables of `osm mesh participants`: proxies, and endpoints that no connected proxy stands before. */
export function renderParticipation(
  { proxies, endpointsWithoutProxy }: ParticipationReport,
  color: boolean,
): readonly string[] {
  const rows = proxies.map(({ name, identity, state, services }) => [
    span(name),
    span(identity),
    span(...stateNames[state]),
    span(services.map(fullName).join(', ') || '-'),
  ])
  return [
    ...renderTable([{ title: 'NAME' }, { title: 'IDENTITY' }, { title: 'STATE' }, { title: 'SERVICES' }], rows, {
      color,
    }),
    ...(endpointsWithoutProxy.length === 0 ? [] : ['', ...renderEndpoints(endpointsWithoutProxy, color)]),
  ]
}

function renderEndpoints(endpoints: readonly EndpointWithoutProxy[], color: boolean): readonly string[] {
  const rows = endpoints.map(({ service, address, port, reason, provider = '-' }) => [
    span(fullName(service)),
    span(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`),
    span(provider),
    span(reasons[reason]),
  ])
  return [
    renderTitle('ENDPOINTS WITHOUT PROXY', '', color, 'warn'),
    ...renderTable([{ title: 'SERVICE' }, { title: 'ADDRESS' }, { title: 'PROVIDER' }, { title: 'REASON' }], rows, {
      color,
      indent: 2,
    }),
  ]
}

function fullName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`
}
