export {
  type AttestedDocument,
  type AttestedVirtualMachine,
  certificatesOfDocument,
  verifyAttestedDocument,
} from './azure/attested-document.js'
export { azureNonce, type KeyExporter } from './azure/azure-nonce.js'
export { azureMachinesAnnotation, parseAzureMachines, permitsVirtualMachine } from './azure/azure-permission.js'
export { AZURE_ROOTS_VARIABLE, azureRoots } from './azure/azure-roots.js'
export { type MachineErrorCode, machineErrorCodes } from './errors.js'
export { FolderTokenStore } from './folder-token-store.js'
export {
  type JoinToken,
  keyHash,
  type MachineGrant,
  newJoinToken,
  parseJoinToken,
  rootPin,
  type StoredToken,
  type TokenUse,
} from './join-token.js'
export { machineLabelsAnnotation, parseMachineLabels } from './machine-labels.js'
export {
  type AdmittedVirtualMachine,
  MAX_TOKEN_TTL_MS,
  MAX_TOKENS,
  type Redeemed,
  redeemToken,
  type TokenStore,
} from './token-store.js'
export { ServiceNamesIndex } from './service-names-index.js'
export {
  type CertificateAnswer,
  CertificateAnswerSchema,
  type JoinAnswer,
  JoinAnswerSchema,
  type JoinRequest,
  JoinRequestSchema,
  MACHINE_SERVER_NAME,
  MAX_NAMED_SERVICES,
  machineAudience,
  machinePaths,
  type MachineReport,
  MachineReportSchema,
  OWN_LISTENERS,
  RenewRequestSchema,
  REPORT_OVERDUE_MS,
  REPORT_PERIOD_MS,
  type ReportAnswer,
  ReportAnswerSchema,
  type ServiceNames,
  type SidecarSettings,
  TrustAnswerSchema,
} from './messages.js'
