export { ProxyRegistry, type ProxyCertificateState, type ProxyRecord } from './proxy-registry.js'
