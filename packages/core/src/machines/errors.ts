/** Codes of errors about machines that join the mesh. */
export const machineErrorCodes = {
  OSM_MACHINE_TOKEN: 'a join token or service account token is malformed, unknown or revoked',
  OSM_MACHINE_TOKEN_EXPIRED: 'a join token or service account token has expired; create a new one',
  OSM_MACHINE_TOKEN_USED: 'another machine has already used the token; a token is valid for one machine only',
  OSM_MACHINE_TOKEN_AUDIENCE:
    'a service account token has a different audience; request a token with the audience of this mesh',
  OSM_MACHINE_TOKENS:
    'the limit of stored tokens, in total or per namespace, is reached; remove tokens, or wait until some have expired',
  OSM_MACHINE_TOKEN_STORE:
    'a stored join token cannot be read or written, or a service account token cannot be verified',
  OSM_MACHINE_AZURE: 'an attested document of Azure is malformed, or is not signed by Azure',
  OSM_MACHINE_AZURE_EXPIRED: 'an attested document of Azure has expired, or is not valid yet',
  OSM_MACHINE_AZURE_REPLAYED:
    'an attested document of Azure belongs to another connection or key: it was copied, or the metadata service returned an earlier document',
  OSM_MACHINE_AZURE_VM: 'the service account does not permit the Azure virtual machine or its subscription',
  OSM_MACHINE_AZURE_ROOTS: 'the roots for attested documents of Azure are invalid',
  OSM_MACHINE_REQUEST: 'a machine sent an invalid request to join, to renew its certificate, or to report its state',
  OSM_MACHINE_KEY: 'a certificate request contains names or extensions, has a weak key, or is not signed with its key',
  OSM_MACHINE_ACCOUNT:
    'the service account of a machine does not exist, is outside the mesh, or does not permit machines',
  OSM_MACHINE_NAME: 'another machine or workload already has the name of the joining machine',
  OSM_MACHINE_LIMIT: 'the limit of machines in the mesh, or in a namespace, is reached',
  OSM_MACHINE_UNKNOWN: 'the machine of a certificate is unknown: it has left the mesh or was removed',
  OSM_MACHINE_TWICE:
    'another process uses the certificate of a machine, or its virtual machine has already joined: the state folder was copied',
  OSM_MACHINE_BUSY: 'the rate of machine requests, in total or from one address, is above its limit',
  OSM_MACHINE_LISTENERS: 'the listener ports of a machine are exhausted; some services are unreachable from it',
  OSM_MACHINE_VARIABLE:
    'several services of other namespaces have the same environment variable on a machine, so that it is not set',
  OSM_MACHINE_CLASS: 'the control plane has no driver for the sidecar class of a machine',
} as const

/** A code of {@link machineErrorCodes}. */
export type MachineErrorCode = keyof typeof machineErrorCodes
