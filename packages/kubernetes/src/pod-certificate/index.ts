export {
  type PodCertificateRequest,
  podCertificateVersions,
  readPodCertificateRequest,
} from './pod-certificate-request.js'
export { servedPodCertificates } from './served-pod-certificates.js'
export { type KeyProof, type PodKeyFault, proveKey } from './prove-key.js'
