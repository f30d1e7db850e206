/** Codes of errors about machines that join the mesh, with the meaning of each. */
export const machineErrorCodes = {
  OSM_MACHINE_TOKEN: 'a join token, or the token of a service account, is malformed, unknown, or withdrawn',
  OSM_MACHINE_TOKEN_EXPIRED: 'a join token, or the token of a service account, has expired; make another one',
  OSM_MACHINE_TOKEN_USED: 'a token was used before by another machine: it admits one machine only',
  OSM_MACHINE_TOKEN_AUDIENCE:
    'the token of a service account is not meant for joining this mesh; request one with its audience',
  OSM_MACHINE_TOKENS:
    'too many tokens are stored, or recorded of the service accounts of a namespace; wait until some have expired, or remove them',
  OSM_MACHINE_TOKEN_STORE:
    'a stored join token cannot be read or written, or the token of a service account cannot be checked',
  OSM_MACHINE_AZURE: 'an attested document of Azure is malformed, or Azure has not signed it',
  OSM_MACHINE_AZURE_EXPIRED: 'an attested document of Azure has expired, or is not valid yet',
  OSM_MACHINE_AZURE_REPLAYED:
    'an attested document of Azure was made for another connection or another key: it was copied, or the metadata service has repeated it',
  OSM_MACHINE_AZURE_VM: 'the service account does not permit the virtual machine of Azure, or its subscription',
  OSM_MACHINE_AZURE_ROOTS: 'the roots by which attested documents of Azure are verified are invalid',
  OSM_MACHINE_REQUEST: 'a machine sent an invalid request to join, to renew its certificate, or to report its state',
  OSM_MACHINE_KEY:
    'the request for a certificate asks for names or extensions, has a weak key, or is not signed by its key',
  OSM_MACHINE_ACCOUNT:
    'the service account that a machine wants the identity of does not exist, is outside the mesh, or permits no machines',
  OSM_MACHINE_NAME: 'another machine, or a workload, has the name of a machine that joins',
  OSM_MACHINE_LIMIT: 'the mesh, or a namespace by its service accounts, has as many machines as it admits',
  OSM_MACHINE_UNKNOWN: 'the control plane does not know the machine of a certificate: it has left, or was removed',
  OSM_MACHINE_TWICE:
    'another process shows the certificate of a machine at the same time, or its virtual machine takes part already: its state folder was copied',
  OSM_MACHINE_BUSY: 'too many requests of machines arrive, in total or from one address',
  OSM_MACHINE_LISTENERS:
    'the ports that a machine gives its sidecar are used up, so that some services cannot be reached there',
  OSM_MACHINE_CLASS: 'the control plane has no driver for the sidecar class of a machine',
} as const

/** A code of {@link machineErrorCodes}. */
export type MachineErrorCode = keyof typeof machineErrorCodes
