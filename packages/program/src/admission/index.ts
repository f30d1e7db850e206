export {
  type AdmissionAnswer,
  type AdmissionObject,
  type AdmissionRequest,
  isAdmissionObject,
  readAdmissionReview,
  writeAdmissionReview,
} from './admission-review.js'
export { readClientCa } from './client-ca.js'
export { admissionErrorCodes, type AdmissionErrorCode } from './error-codes.js'
export { type ServingCertificate, servingCertificate, type ServingKey } from './serving-certificate.js'
export { type WebhookServer, webhookServer, type WebhookServerOptions, type ReviewWork } from './webhook-server.js'
