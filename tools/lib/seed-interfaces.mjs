import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

const page = 'docs/reference/seed-interfaces.md'

/** Methods of the original documents, by interface. What the documents themselves leave out is left out. */
const methods = {
  MeshCataloger: [
    'GetSMISpec',
    'ListTrafficPolicies',
    'ListAllowedInboundServices',
    'ListAllowedInboundServiceAccounts',
    'ListAllowedOutboundServiceAccounts',
    'ListServiceAccountsForService',
    'ListSMIPolicies',
    'ListEndpointsForService',
    'ExpectProxy',
    'GetServicesFromEnvoyCertificate',
    'RegisterProxy',
    'UnregisterProxy',
    'GetServicesForServiceAccount',
    'GetResolvableHostnamesForUpstreamService',
    'GetWeightedClusterForService',
    'GetIngressRoutesPerHost',
    'GetIngressPoliciesForService',
  ],
  ServiceCatalog: ['ListEndpoints', 'RegisterNewEndpoint', 'ListEndpointsProviders', 'GetAnnouncementChannel'],
  MeshSpec: [
    'ListTrafficSplits',
    'ListTrafficSplitServices',
    'ListServiceAccounts',
    'GetService',
    'ListServices',
    'ListHTTPTrafficSpecs',
    'ListTrafficTargets',
    'GetBackpressurePolicy',
    'GetAnnouncementsChannel',
  ],
  MeshTopology: ['ListTrafficSplits', 'ListServices', 'GetService'],
  EndpointsProvider: ['ListEndpointsForService'],
  'certificate.Manager': [
    'IssueCertificate',
    'GetCertificate',
    'RotateCertificate',
    'GetRootCertificate',
    'ListCertificates',
    'ReleaseCertificate',
    'GetAnnouncementsChannel',
  ],
  Certificater: [
    'GetCommonName',
    'GetCertificateChain',
    'GetPrivateKey',
    'GetIssuingCA',
    'GetExpiration',
    'GetSerialNumber',
  ],
  AggregatedDiscoveryServiceServer: ['StreamAggregatedResources', 'DeltaAggregatedResources'],
  EndpointDiscoveryServiceServer: ['StreamEndpoints'],
  Driver: ['Patch', 'Start', 'sidecar.Register', 'sidecar.InitDriver', 'sidecar.Patch', 'sidecar.Start'],
}

/** @typedef {(path: string) => string | undefined} ReadSource gives the text of a file of the project, if there is one */

/** @returns {string[]} what is wrong with the page of the original interfaces */
export function checkSeedInterfaces() {
  return findSeedFaults(readFileSync(join(root, page), 'utf8'), methods, (path) =>
    existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined,
  )
}

/**
 * Each method has a row; the file in it that implements the method declares it, and the file that uses it does so outside tests.
 * @param {string} text
 * @param {Readonly<Record<string, readonly string[]>>} expected methods by interface
 * @param {ReadSource} read
 * @returns {string[]}
 */
export function findSeedFaults(text, expected, read) {
  const faults = []
  /** @type {Map<string, Set<string>>} */
  const found = new Map(Object.keys(expected).map((name) => [name, new Set()]))
  let section = ''
  for (const [index, line] of text.split('\n').entries()) {
    const heading = /^## (.+)$/.exec(line)?.[1]
    if (heading !== undefined) section = heading
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells.length !== 7 || /^(-+|method)$/.test(cells[1] ?? '')) continue
    const [, method = '', here = '', implemented = '', used = ''] = cells
    const where = `${page}:${index + 1}`
    const [seed = '', name = ''] = [method, here].map((cell) => /^`([^`]+)`$/.exec(cell)?.[1] ?? '')
    if (expected[section]?.includes(seed) === true) found.get(section)?.add(seed)
    else faults.push(`${where}: ${section} of the documents has no method ${method}`)
    faults.push(
      ...placeFaults(implemented, declares(name), read, 'declares no').map((fault) => `${where}: ${fault} ${name}`),
      ...placeFaults(used, uses(name), read, 'does not use').map((fault) => `${where}: ${fault} ${name}`),
    )
  }
  const missing = Object.entries(expected).flatMap(([name, seeds]) =>
    seeds.filter((seed) => found.get(name)?.has(seed) !== true).map((seed) => `${page}: ${name} lacks ${seed}`),
  )
  return [...faults, ...missing]
}

/**
 * @param {string} cell a link to a file
 * @param {RegExp} pattern what a line of the file has to match
 * @param {ReadSource} read
 * @param {string} otherwise
 * @returns {string[]}
 */
function placeFaults(cell, pattern, read, otherwise) {
  const path = /\(\.\.\/\.\.\/([^)]+)\)/.exec(cell)?.[1] ?? cell
  if (!/^packages\/[^/]+\/src\//.test(path) || /\.test\.ts$/.test(path))
    return [`${path} is no source of a package for`]
  const source = read(path)
  if (source === undefined) return [`there is no ${path} for`]
  const code = source.split('\n').filter((line) => !/^\s*(\*|\/\*|\/\/)/.test(line))
  return code.some((line) => pattern.test(line)) ? [] : [`${path} ${otherwise}`]
}

/**
 * A method, accessor, field or property of an object.
 * @param {string} name
 */
function declares(name) {
  return new RegExp(`^\\s*(?:async |get |readonly )*${name}(?:[<(:,]|$)`)
}

/**
 * A member that is read or called, or a handler that is given under the name.
 * @param {string} name
 */
function uses(name) {
  return new RegExp(`\\.${name}\\b|^\\s*${name}: `)
}
