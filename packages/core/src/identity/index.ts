export { isDnsDomain, isDnsLabel, isDnsSubdomain } from './dns-name.js'
export { identityErrorCodes, type IdentityErrorCode } from './errors.js'
export {
  parseClusterDomain,
  parseMeshDomains,
  parseTrustDomain,
  type ClusterDomain,
  type MeshDomains,
  type TrustDomain,
} from './mesh-domains.js'
export { accountOfOutsideName } from './outside-name.js'
export {
  newProxyUUID,
  parseProxyCommonName,
  parseProxyUUID,
  proxyCommonName,
  tryParseProxyCommonName,
  type ProxyIdentity,
} from './proxy-identity.js'
export { identityOfProxyKey, proxyKey, proxyKeyOfInstance, proxyKeyOfRef, type ProxyKey } from './proxy-key.js'
export { parseServerName, readsAsServerName, serverNameOf } from './server-name.js'
export {
  checkServiceAccount,
  parsePrincipal,
  parseServiceIdentity,
  parseSpiffeId,
  principalOf,
  serviceIdentity,
  spiffeIdOf,
} from './service-identity.js'
export { quoted } from './dns-name.js'
